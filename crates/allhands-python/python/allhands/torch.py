"""The backend `allhands` of torch.distributed, for tensors on the processor.

    import torch.distributed as dist
    dist.init_process_group("allhands")

Ranks find one another by torch's own store. Importing torch loads this by the entry point `torch.backends`.
"""

import math
import time

import torch
import torch.distributed as dist

import allhands

from ._core import in_order
from ._torch_works import ENDED, Message, Work
from ._types import ELEMENT, FORM, OPERATOR

_ELEMENTS = {getattr(torch, name): number for name, number in ELEMENT.items() if hasattr(torch, name)}
_BROADCAST, _SCATTER, _GATHER, _ALLGATHER = FORM["broadcast"], FORM["scatter"], FORM["gather"], FORM["allgather"]
_ALLTOALL, _REDUCE, _ALLREDUCE = FORM["alltoall"], FORM["reduce"], FORM["allreduce"]
_REDUCE_SCATTER, _BARRIER = FORM["reduce_scatter"], FORM["barrier"]

_Op = dist.ReduceOp.RedOpType
_OPERATORS = {
    _Op.SUM: OPERATOR["sum"],
    _Op.AVG: OPERATOR["sum"],
    _Op.PREMUL_SUM: OPERATOR["sum"],
    _Op.PRODUCT: OPERATOR["product"],
    _Op.MIN: OPERATOR["min"],
    _Op.MAX: OPERATOR["max"],
    _Op.BAND: OPERATOR["bitwise_and"],
    _Op.BOR: OPERATOR["bitwise_or"],
    _Op.BXOR: OPERATOR["bitwise_xor"],
}


_SUM, _SUM_NUMBER = dist.ReduceOp.SUM, OPERATOR["sum"]


def _autoload():
    """What `import torch` calls; registering is all that there is to do, and that is done by importing this."""


class _Tensor:
    """A tensor's memory; of one that does not stand in order, a packed copy and where it goes back to."""

    __slots__ = ("tensor", "source", "element", "side")

    def __init__(self, tensor, reads=True):
        self.source, self.tensor = None, tensor
        found = in_order(tensor, torch.Tensor)
        if found is not None:
            self.element, self.side = found
            return
        if not tensor.is_cpu:
            raise ValueError(f"allhands: a tensor on {tensor.device}; right would be one on the processor")
        if tensor.is_sparse:
            raise ValueError("allhands: a sparse tensor; right would be a dense one, as tensor.to_dense() makes one")
        if not tensor.is_contiguous():
            self.source = tensor
            self.tensor = tensor.contiguous() if reads else torch.empty_like(tensor, memory_format=torch.contiguous_format)
        self.element, self.side = _element(tensor), (self.tensor.data_ptr(), self.tensor.numel())

    def give_back(self):
        if self.source is not None:
            self.source.copy_(self.tensor)


def _element(tensor):
    number = _ELEMENTS.get(tensor.dtype)
    if number is None:
        raise TypeError(f"allhands: tensors of {tensor.dtype} cannot be sent")
    return number


def _seconds(timeout):
    return timeout.total_seconds() if timeout is not None else 1800.0


class ProcessGroupAllhands(dist.ProcessGroup):
    """Collectives of a group of ranks, by a communicator of their own."""

    def __init__(self, store, rank, size, timeout):
        super().__init__(rank, size)
        self._rank, self._size = rank, size
        # The thread takes calls further that nobody waits for, without the interpreter.
        self._comm = allhands.meet(store, rank, size, "allhands", progress_thread=True)
        self._timeout_s = _seconds(timeout)
        self._comm.set_timeout(self._timeout_s)
        self._call = self._comm._call

    def getBackendName(self):
        return "allhands"

    # torch keeps these with a group's backend, which a group of Python's has not.

    supports_coalescing = False
    supports_shrinking = False
    _device_types = [torch.device("cpu")]

    def _get_backend(self, device):
        if device.type != "cpu":
            raise RuntimeError(f"allhands: a group for {device}; right would be one for cpu")
        return self

    def _set_group_name(self, name):
        self._name = name

    def _set_group_desc(self, text):
        self._text = text

    @property
    def group_name(self):
        return self._name

    @property
    def group_desc(self):
        return self._text

    def _run(self, form, sides, root, operator, kept, opts, then=None, result=()):
        """One call: at once, where the program does not go on before its end, and as a request otherwise."""
        element, source, target = sides
        nonblocking = opts is None or opts.asyncOp
        request = self._call(form, element, source, target, root, operator, kept, nonblocking)
        if nonblocking:
            return Work((request,), then, result)
        if then is not None:
            then()
        return ENDED

    # Reductions.

    def _reduced(self, tensors, opts):
        """The operator's number, after what is to be done before, and what is to be done with the sums."""
        operation = opts.reduceOp
        kind = getattr(operation, "op", operation)
        number = _OPERATORS.get(kind)
        if number is None:
            raise ValueError(f"allhands: {kind} is not served; right would be SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR or PREMUL_SUM")
        if kind == _Op.PREMUL_SUM:
            factor = operation.__getstate__()[1]
            for tensor in tensors:
                tensor.mul_(factor)
        return number, kind == _Op.AVG

    def allreduce(self, tensors, opts=None):
        (tensor,) = _listed(tensors)
        if opts is None:
            opts = dist.AllreduceOptions()
        found = in_order(tensor, torch.Tensor)
        if found is not None and opts.reduceOp == _SUM:
            # What programs call most, without what the others need, and without functions of Python's.
            element, side = found
            if opts.asyncOp:
                return self._run(_ALLREDUCE, (element, None, side), 0, _SUM_NUMBER, tensor, opts, None, tensors)
            self._call(_ALLREDUCE, element, None, side, 0, _SUM_NUMBER, None, False)
            return ENDED
        if tensor.is_sparse:
            return self._allreduce_sparse(tensor, opts)
        place = _Tensor(tensor)
        number, averages = self._reduced([place.tensor], opts)

        def then():
            if averages:
                _divide(place.tensor, self._size)
            place.give_back()

        sides = (place.element, None, place.side)
        needs = then if averages or place.source is not None else None
        return self._run(_ALLREDUCE, sides, 0, number, place.tensor, opts, needs, tensors)

    def _allreduce_sparse(self, tensor, opts):
        """The sum of what all ranks have, of which each has its own elements; has ended when it returns."""
        if opts.reduceOp != _SUM:
            raise ValueError("allhands: a sparse tensor is summed alone; right would be SUM, or a dense tensor")
        own = tensor.coalesce()
        counts = self._comm.allgather(torch.tensor([own._nnz()])).reshape(-1).tolist()
        parts = []
        for part in (own.indices().T.contiguous(), own.values().contiguous()):
            row = math.prod(part.shape[1:])
            whole = part.new_empty((sum(counts), *part.shape[1:]))
            self._comm.allgather(part.reshape(-1), whole.reshape(-1), [count * row for count in counts])
            parts.append(whole)
        indices, values = parts
        tensor.copy_(torch.sparse_coo_tensor(indices.T, values, tensor.shape).coalesce())
        return Work((), None, [tensor])

    def allreduce_coalesced(self, tensors, opts=None):
        return self._each([self.allreduce([tensor], opts) for tensor in tensors], tensors)

    def _each(self, works, result):
        works = [work for work in works if work is not ENDED]
        if not works:
            return ENDED
        requests = tuple(request for work in works for request in work._requests)
        thens = [work._then for work in works if work._then is not None]

        def then():
            for one in thens:
                one()

        return Work(requests, then if thens else None, result)

    def reduce(self, tensors, opts=None):
        (tensor,) = _listed(tensors)
        opts = opts or dist.ReduceOptions()
        root = opts.rootRank
        place = _Tensor(tensor)
        number, averages = self._reduced([place.tensor], opts)
        is_root = self._rank == root
        # In place on no rank, as ranks cannot know what the root does.
        source = place.tensor.clone() if is_root else place.tensor
        target = place.side if is_root else None

        def then():
            if averages:
                _divide(place.tensor, self._size)
            place.give_back()

        sides = (place.element, (source.data_ptr(), source.numel()), target)
        return self._run(_REDUCE, sides, root, number, (source, place.tensor), opts, then if is_root else None, tensors)

    def _reduce_scatter_base(self, output, source, opts=None):
        opts = opts or dist.ReduceScatterOptions()
        read, written = _Tensor(source), _Tensor(output, reads=False)
        number, averages = self._reduced([read.tensor], opts)

        def then():
            if averages:
                _divide(written.tensor, self._size)
            written.give_back()

        sides = (read.element, read.side, written.side)
        needs = then if averages or written.source is not None else None
        return self._run(_REDUCE_SCATTER, sides, 0, number, (read.tensor, written.tensor), opts, needs, [output])

    def reduce_scatter(self, outputs, inputs, opts=None):
        opts = opts or dist.ReduceScatterOptions()
        works = [self._reduce_scatter_list(output, parts, opts) for output, parts in zip(outputs, inputs)]
        return self._each(works, outputs)

    def _reduce_scatter_list(self, output, parts, opts):
        whole = torch.cat([part.reshape(-1) for part in parts])
        if any(part.numel() != output.numel() for part in parts):
            raise ValueError("allhands: reduce_scatter: tensors of several lengths; right would be equal ones")
        return self._reduce_scatter_base(output, whole, opts)

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=None):
        return self._each([self._reduce_scatter_base(output, source, opts) for output, source in zip(outputs, inputs)], outputs)

    # What moves data alone.

    def broadcast(self, tensors, opts=None):
        (tensor,) = _listed(tensors)
        opts = opts or dist.BroadcastOptions()
        place = _Tensor(tensor)
        then = place.give_back if place.source is not None else None
        return self._run(_BROADCAST, (place.element, None, place.side), opts.rootRank, None, place.tensor, opts, then, tensors)

    def _allgather_base(self, output, source, opts=None):
        read, written = _Tensor(source), _Tensor(output, reads=False)
        then = written.give_back if written.source is not None else None
        sides = (read.element, read.side, written.side)
        return self._run(_ALLGATHER, sides, 0, None, (read.tensor, written.tensor), opts, then, [output])

    def allgather(self, outputs, inputs, opts=None):
        return self._each([self._allgather_list(parts, source, opts) for parts, source in zip(outputs, inputs)], outputs)

    def _allgather_list(self, parts, source, opts):
        whole = source.new_empty((self._size, *source.shape))
        work = self._allgather_base(whole, source, opts)
        return self._then_split(work, whole, parts)

    def _then_split(self, work, whole, parts):
        def then():
            for part, piece in zip(parts, whole):
                part.copy_(piece.reshape(part.shape))

        if work is ENDED:
            then()
            return work
        work._then, work._result = then, parts
        return work

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        return self._each([self._allgather_base(output, source, opts) for output, source in zip(outputs, inputs)], outputs)

    def allgather_coalesced(self, outputs, inputs, opts=None):
        columns = [[row[at] for row in outputs] for at in range(len(inputs))]
        return self._each([self._allgather_list(parts, source, opts) for parts, source in zip(columns, inputs)], outputs)

    def gather(self, outputs, inputs, opts=None):
        (source,) = inputs
        opts = opts or dist.GatherOptions()
        read, root = _Tensor(source), opts.rootRank
        if self._rank != root:
            return self._run(_GATHER, (read.element, read.side, None), root, None, read.tensor, opts)
        whole = source.new_empty((self._size, *source.shape))
        sides = (read.element, read.side, (whole.data_ptr(), whole.numel()))
        work = self._run(_GATHER, sides, root, None, (read.tensor, whole), opts, None, outputs[0])
        return self._then_split(work, whole, outputs[0])

    def scatter(self, outputs, inputs, opts=None):
        (output,) = outputs
        opts = opts or dist.ScatterOptions()
        written, root = _Tensor(output, reads=False), opts.rootRank
        then = written.give_back if written.source is not None else None
        source = torch.cat([part.reshape(-1) for part in inputs[0]]) if self._rank == root else None
        side = (source.data_ptr(), source.numel()) if source is not None else None
        sides = (written.element, side, written.side)
        return self._run(_SCATTER, sides, root, None, (source, written.tensor), opts, then, outputs)

    def alltoall_base(self, output, source, output_splits, input_splits, opts=None):
        read, written = _Tensor(source), _Tensor(output, reads=False)
        then = written.give_back if written.source is not None else None
        if not output_splits and not input_splits:
            sides = (read.element, read.side, written.side)
            return self._run(_ALLTOALL, sides, 0, None, (read.tensor, written.tensor), opts, then, [output])
        row = lambda tensor: tensor.numel() // max(tensor.shape[0], 1) if tensor.dim() else 1
        counts = lambda splits, tensor: [s * row(tensor) for s in splits or [tensor.shape[0] // self._size] * self._size]
        arrays = [tensor.tensor.detach().reshape(-1) for tensor in (read, written)]
        request = self._comm.alltoall(*arrays, counts(input_splits, source), counts(output_splits, output), nonblocking=True)
        return Work((request,), then, [output])

    def alltoall(self, outputs, inputs, opts=None):
        source = torch.cat([part.reshape(-1) for part in inputs])
        whole = source.new_empty(sum(part.numel() for part in outputs))
        sends, receives = ([part.numel() for part in parts] for parts in (inputs, outputs))
        request = self._comm.alltoall(source, whole, sends, receives, nonblocking=True)
        pieces = whole.split(receives)

        def then():
            for part, piece in zip(outputs, pieces):
                part.copy_(piece.reshape(part.shape))

        return Work((request,), then, outputs)

    def gather_single(self, output, source, opts=None):
        opts = opts or dist.GatherOptions()
        read, root = _Tensor(source), opts.rootRank
        if self._rank != root:
            return self._run(_GATHER, (read.element, read.side, None), root, None, read.tensor, opts)
        written = _Tensor(output, reads=False)
        then = written.give_back if written.source is not None else None
        sides = (read.element, read.side, written.side)
        return self._run(_GATHER, sides, root, None, (read.tensor, written.tensor), opts, then, [output])

    def barrier(self, opts=None):
        return self._run(_BARRIER, (ELEMENT["uint8"], None, None), 0, None, None, opts)

    # What torch 2.15 calls some of them.

    all_gather_single = _allgather_base
    all_gather_single_coalesced = allgather_into_tensor_coalesced
    reduce_scatter_single = _reduce_scatter_base
    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced
    all_to_all_single = alltoall_base

    def set_timeout(self, timeout):
        self._timeout_s = _seconds(timeout)
        self._comm.set_timeout(self._timeout_s)

    # Between two ranks.

    def send(self, tensors, to, tag):
        (tensor,) = tensors
        request = self._comm.isend(_Tensor(tensor).tensor.detach(), to, tag)
        # A short message is away at once.
        return ENDED if request.test() else Message(request, self._timeout_s)

    def recv(self, tensors, source, tag):
        return self._receive(tensors, source, tag)

    def recv_anysource(self, tensors, tag):
        return self._receive(tensors, None, tag)

    def _receive(self, tensors, source, tag):
        (tensor,) = tensors
        place = _Tensor(tensor, reads=False)
        request = self._comm.irecv(place.tensor.detach(), source, tag)
        return Message(request, self._timeout_s, place, tensors)

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        """A barrier in which rank 0 says who has not come; with `wait_all_ranks` all of them, else the first.

        Its errors have the words that Gloo's have, as programs look for these.
        """
        seconds = timeout.total_seconds() if timeout is not None else self._timeout_s
        until = time.monotonic() + seconds
        left = lambda: max(until - time.monotonic(), 0.0)
        word = torch.zeros(1, dtype=torch.uint8)
        if self._rank != 0:
            self._report_to_monitor(word, left)
            return
        if seconds <= 0:
            raise RuntimeError(f"[Rank 0]: Rank 0 timed out in monitoredBarrier after {seconds * 1e3:.0f} ms")
        missing = []
        for rank in range(1, self._size):
            try:
                self._comm.recv(word, rank, _MONITOR_TAG, timeout=left())
            except allhands.Error:
                missing.append(rank)
                if not wait_all_ranks:
                    break
        if missing:
            who = f"Ranks {', '.join(map(str, missing))}" if wait_all_ranks else f"Rank {missing[0]}"
            raise RuntimeError(f"[Rank 0]: {who} failed to pass monitoredBarrier in {seconds * 1e3:.0f} ms")
        for rank in range(1, self._size):
            self._comm.send(word, rank, _MONITOR_TAG, timeout=left())

    def _report_to_monitor(self, word, left):
        """Says that this rank has come, and hears that all have."""
        try:
            self._comm.send(word, 0, _MONITOR_TAG, timeout=left())
            self._comm.recv(word, 0, _MONITOR_TAG, timeout=left())
        except allhands.Error as error:
            rank = self._rank
            raise RuntimeError(
                f"[Rank {rank}]: Rank {rank} successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0: "
                f"{error}"
            ) from error

    def abort(self):
        """Ends all waits in this group's calls, on whatever thread, with an error."""
        self._comm.abort()
        self._call = _aborted

    def shutdown(self):
        """Nothing is left to do: what is under way ends with the communicator."""


# Of messages that are no program's: torch's tags are small.
_MONITOR_TAG = (1 << 31) - 2


def _aborted(*_):
    raise allhands.Interrupted("allhands: the group was aborted; right would be a new one")


def _listed(tensors):
    """The tensors of a call, which programs that make it themselves may give one of."""
    # Most calls give a list, of which the first question takes a tenth of the second one's time.
    return tensors if type(tensors) is list or not isinstance(tensors, torch.Tensor) else [tensors]


def _divide(tensor, by):
    if tensor.is_floating_point() or tensor.is_complex():
        tensor.div_(by)
    else:
        tensor.div_(by, rounding_mode="trunc")


def _create(store, rank, size, timeout):
    return ProcessGroupAllhands(store, rank, size, timeout)


# What records calls in torch 2.15 asks groups for a name that only those of C++ have.
getattr(dist.distributed_c10d, "_FR_SELF_RECORDING_BACKENDS", set()).add("allhands")

if "allhands" not in dist.Backend.backend_list:
    dist.Backend.register_backend("allhands", _create, devices=["cpu"])
