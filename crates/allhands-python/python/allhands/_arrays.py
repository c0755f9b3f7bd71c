"""Arrays that calls make, functions that combine them, and coroutines that wait for requests."""

import asyncio


def like(array):
    """An array of the same shape and type."""
    return _new(array, _shape(array))


def blocks_like(array, blocks):
    """An array with a first axis of so many blocks, each like `array`."""
    return _new(array, (blocks, *_shape(array)))


def part_like(array, blocks):
    """An array that is one of so many equal parts of `array` along its first axis."""
    shape = _shape(array)
    if not shape or shape[0] % blocks:
        raise ValueError(
            f"an array of shape {shape} has no {blocks} equal blocks along its first axis; right would be one of {blocks} or a multiple, "
            "or an output"
        )
    if shape[0] == blocks and len(shape) > 1:
        return _new(array, shape[1:])
    return _new(array, (shape[0] // blocks, *shape[1:]))


def row_like(array, elements):
    """A row of so many elements of the type of `array`."""
    return _new(array, (elements,))


def _shape(array):
    shape = getattr(array, "shape", None)
    if shape is None:
        shape = memoryview(array).shape
    return tuple(shape)


def _new(array, shape):
    if hasattr(array, "new_empty"):
        return array.new_empty(shape)
    import numpy

    kind = getattr(array, "dtype", None)
    if kind is None:
        kind = memoryview(array).format
    return numpy.empty(shape, numpy.dtype(kind))


def apply(function, left, right, kind):
    """The bytes that a function gives for two arrays in memory that is lent for as long as this takes."""
    import numpy

    if kind == "bfloat16":
        from ml_dtypes import bfloat16 as kind
    arrays = [numpy.frombuffer(side, numpy.dtype(kind)) for side in (left, right)]
    result = numpy.asarray(function(*arrays))
    if result.dtype != arrays[0].dtype or result.shape != arrays[0].shape:
        raise ValueError(
            f"the operator gave {result.dtype} of shape {result.shape} for arrays of {arrays[0].dtype} of shape {arrays[0].shape}; "
            "right would be an array like its arguments"
        )
    given = result.tobytes()
    del arrays, result
    try:
        left.release()
        right.release()
    except BufferError:
        raise ValueError("the operator has kept an argument, whose memory is lent to it for the call; right would be a copy") from None
    return given


def awaited(request):
    """What `await request` goes through: other tasks run until the call has ended."""

    async def until_ended():
        pause = 0.0
        while not request.test():
            await asyncio.sleep(pause)
            # Short calls end in microseconds; who waits for long leaves the processor alone.
            pause = min(0.001, pause + 0.00001)
        return request.wait()

    return until_ended().__await__()
