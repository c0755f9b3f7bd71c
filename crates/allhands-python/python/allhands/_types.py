"""The numbers of forms, element types and operators that `Communicator._call` takes."""

FORMS = (
    "barrier",
    "broadcast",
    "scatter",
    "gather",
    "allgather",
    "alltoall",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "scan",
    "exscan",
)
ELEMENTS = (
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "bool",
)
OPERATORS = (
    "sum",
    "product",
    "min",
    "max",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "logical_and",
    "logical_or",
    "logical_xor",
)

FORM = {name: number for number, name in enumerate(FORMS)}
ELEMENT = {name: number for number, name in enumerate(ELEMENTS)}
OPERATOR = {name: number for number, name in enumerate(OPERATORS)}
