"""Every collective on numpy arrays: values, types, shapes, in place, irregular, nonblocking, and what goes wrong."""

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import allhands
import numpy
import pytest

TYPES = [numpy.dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")]
TYPES += [numpy.dtype(name) for name in ("float16", "float32", "float64", "complex64", "complex128")]
SIZES = [1, 2, 3, 4]


def test_the_import_is_light():
    """What takes long to import is not, until a call needs it."""
    program = "import sys, allhands; print([name for name in ('asyncio', 'multiprocessing', 'numpy', 'statistics', 'torch') if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ran.stdout == "[]\n", ran.stdout + ran.stderr


def every_collective(comm, kind, count):
    """Calls all collectives on arrays whose values say where they are from."""
    p, rank = comm.size, comm.rank
    own = lambda r: (numpy.arange(count) % 5 + r).astype(kind)
    everyone = [own(r) for r in range(p)]
    total = sum(everyone[1:], everyone[0]).astype(kind)

    assert comm.barrier() is None
    array = own(rank) if rank == p - 1 else numpy.zeros(count, kind)
    assert comm.broadcast(array, root=p - 1) is array
    numpy.testing.assert_array_equal(array, own(p - 1))

    numpy.testing.assert_array_equal(comm.allreduce(own(rank)), total)
    array = own(rank)
    assert comm.allreduce(array, array) is array
    numpy.testing.assert_array_equal(array, total)
    found = comm.reduce(own(rank), root=0)
    assert (found is None) == (rank > 0)
    if rank == 0:
        numpy.testing.assert_array_equal(found, total)
    numpy.testing.assert_array_equal(comm.scan(own(rank)), sum(everyone[1 : rank + 1], everyone[0]).astype(kind))
    before = numpy.zeros(count, kind)
    comm.exscan(own(rank), before)
    numpy.testing.assert_array_equal(before, sum(everyone[:rank], numpy.zeros(count, kind)).astype(kind))

    gathered = comm.allgather(own(rank))
    assert gathered.shape == (p, count)
    numpy.testing.assert_array_equal(gathered, numpy.stack(everyone))
    gathered = comm.gather(own(rank), root=p - 1)
    assert (gathered is None) == (rank != p - 1)
    if rank == p - 1:
        numpy.testing.assert_array_equal(gathered, numpy.stack(everyone))
    part = comm.scatter(numpy.stack(everyone) if rank == 0 else None, numpy.empty(count, kind), root=0)
    numpy.testing.assert_array_equal(part, own(rank))
    blocks = numpy.stack([own(10 * rank + d) for d in range(p)])
    swapped = comm.alltoall(blocks)
    numpy.testing.assert_array_equal(swapped, numpy.stack([own(10 * s + rank) for s in range(p)]))
    part = comm.reduce_scatter(numpy.stack([own(rank)] * p))
    assert part.shape == (count,) or p == 1
    numpy.testing.assert_array_equal(part.reshape(count), total)


def irregular(comm):
    p, rank = comm.size, comm.rank
    mine = numpy.full(rank, rank)
    counts = list(range(p))
    expected = numpy.concatenate([numpy.full(r, r) for r in range(p)])
    numpy.testing.assert_array_equal(comm.allgather(mine, counts=counts), expected)
    numpy.testing.assert_array_equal(comm.allgather(mine, counts="any"), expected)
    found = comm.gather(mine, root=0, counts="any")
    if rank == 0:
        numpy.testing.assert_array_equal(found, expected)
    numpy.testing.assert_array_equal(comm.scatter(expected if rank == 0 else None, numpy.empty(rank, int), counts=counts), mine)
    # Rank s has s + d elements for rank d.
    blocks = numpy.concatenate([numpy.full(rank + d, 100 * rank + d) for d in range(p)])
    found = comm.alltoall(blocks, send_counts=[rank + d for d in range(p)])
    numpy.testing.assert_array_equal(found, numpy.concatenate([numpy.full(s + rank, 100 * s + rank) for s in range(p)]))
    whole = numpy.arange(sum(counts))
    start = sum(counts[:rank])
    numpy.testing.assert_array_equal(comm.reduce_scatter(whole, counts=counts), p * whole[start : start + rank])


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_every_type(kind):
    allhands.run(lambda comm: [every_collective(comm, kind, count) for count in (0, 1, 7)], 3)


@pytest.mark.parametrize("size", SIZES)
def test_every_size(size):
    allhands.run(lambda comm: [every_collective(comm, numpy.dtype("int64"), count) for count in (1, 5, 30_000)], size)
    allhands.run(irregular, size)


def test_operators():
    def check(comm):
        values = numpy.array([3, 5, 6, 9]) + comm.rank
        everyone = [numpy.array([3, 5, 6, 9]) + r for r in range(comm.size)]
        for name, of in {
            "product": numpy.multiply,
            "min": numpy.minimum,
            "max": numpy.maximum,
            "bitwise_and": numpy.bitwise_and,
            "bitwise_or": numpy.bitwise_or,
            "bitwise_xor": numpy.bitwise_xor,
        }.items():
            numpy.testing.assert_array_equal(comm.allreduce(values, op=name), of.reduce(everyone), name)
        truths = numpy.array([comm.rank == 0, True, False])
        assert comm.allreduce(truths, op="logical_and").tolist() == [comm.size == 1, True, False]
        assert comm.allreduce(truths).tolist() == [True, True, False]
        with pytest.raises(TypeError, match="bitwise_and does not combine float64"):
            comm.allreduce(numpy.ones(2), op="bitwise_and")
        with pytest.raises(ValueError, match="no operator 'plus'"):
            comm.allreduce(numpy.ones(2), op="plus")

    allhands.run(check, 3)


def test_a_function_combines_in_rank_order():
    def check(comm):
        # Affine maps x -> a x + b, which do not commute.
        def after(left, right):
            a, b = left.reshape(-1, 2).T
            c, d = right.reshape(-1, 2).T
            return numpy.stack([a * c, b * c + d], axis=1).reshape(left.shape)

        own = numpy.array([2.0 + comm.rank, 1.0])
        expected = numpy.array([2.0, 1.0])
        for r in range(1, comm.size):
            expected = after(expected, numpy.array([2.0 + r, 1.0]))
        numpy.testing.assert_array_equal(comm.allreduce(own, op=after), expected)

        def fails(left, right):
            raise ArithmeticError("on purpose")

        # It is raised where it was called, which is not on every rank.
        raised = False
        try:
            comm.allreduce(own, op=fails)
        except ArithmeticError as error:
            raised = str(error) == "on purpose"
        numpy.testing.assert_array_equal(comm.allreduce(own), comm.allreduce(own))
        return raised

    assert any(allhands.run(check, 3))


def test_shapes_and_memory():
    def check(comm):
        table = numpy.arange(12.0).reshape(3, 4)
        numpy.testing.assert_array_equal(comm.allreduce(table), comm.size * table)
        # A packed copy is sent of what is scattered in memory, but nothing can be written there.
        numpy.testing.assert_array_equal(comm.allreduce(table.T), comm.size * table.T)
        with pytest.raises(BufferError, match="the output: its elements do not stand one after another"):
            comm.allreduce(table, numpy.empty((8, 6))[::2, ::2])
        table.flags.writeable = False
        with pytest.raises(BufferError, match="the output: it is read-only"):
            comm.allreduce(table, table)
        with pytest.raises(ValueError, match="overlap"):
            both = numpy.zeros(6)
            comm.allreduce(both[:4], both[2:])
        with pytest.raises(TypeError, match="the input has int64, the output float64"):
            comm.allreduce(numpy.zeros(3, int), numpy.zeros(3))
        with pytest.raises(TypeError, match="a list is no array"):
            comm.allreduce([1, 2])
        with pytest.raises(allhands.ArgumentError, match="the output has 3 elements where 4 are right") as raised:
            comm.allreduce(numpy.zeros(4), numpy.zeros(3))
        assert raised.value.communicator_usable and raised.value.rank is None
        assert bytes(comm.broadcast(bytearray(b"word" if comm.rank == 0 else b"    "))) == b"word"
        comm.barrier()

    allhands.run(check, 2)


def test_nonblocking():
    async def awaits(comm):
        requests = [comm.allreduce(numpy.full(1000, i + comm.rank), nonblocking=True) for i in range(3)]
        return [int((await request)[0]) for request in requests]

    def check(comm):
        request = comm.allreduce(numpy.full(5, comm.rank), nonblocking=True)
        assert request.wait().tolist() == [3] * 5
        assert request.test() and request.wait().tolist() == [3] * 5
        # One that nobody waits for is waited for when it goes.
        comm.allgather(numpy.zeros(3), nonblocking=True)
        return asyncio.run(awaits(comm))

    assert allhands.run(check, 3) == [[3, 6, 9]] * 3


def test_messages_and_other_communicators():
    def check(comm):
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        got = numpy.zeros(8)
        if comm.rank == 0:
            comm.send(numpy.arange(5.0), right, tag=7)
            assert comm.recv(got, left) == (left, 7, 5)
        else:
            assert comm.recv(got) == (left, 7, 5)
            comm.send(got[:5], right, tag=7)
        numpy.testing.assert_array_equal(got, [0, 1, 2, 3, 4, 0, 0, 0])
        half = comm.split(comm.rank % 2)
        assert half.allreduce(numpy.ones(1))[0] == half.size
        assert comm.split(None if comm.rank else 0) is None or comm.rank == 0
        assert comm.dup().allreduce(numpy.ones(1))[0] == comm.size

    allhands.run(check, 4)


def test_messages_under_way():
    def check(comm):
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        sent, got = numpy.full(1 << 18, comm.rank), numpy.zeros(1 << 18, int)
        receive, send = comm.irecv(got, left, 3), comm.isend(sent, right, 3)
        assert comm.allreduce(numpy.ones(1))[0] == comm.size
        assert send.wait() is None and receive.wait() == (left, 3, 1 << 18)
        assert receive.test() and receive.wait() == (left, 3, 1 << 18)
        assert (got == left).all()

        async def exchange():
            receive = comm.irecv(got)
            await comm.isend(sent + 1, right)
            return await receive

        assert asyncio.run(exchange()) == (left, 0, 1 << 18)
        assert (got == left + 1).all()
        with pytest.raises(TimeoutError, match=f"from rank {left} had not ended after its timeout of 0.1 s") as raised:
            comm.recv(got, left, timeout=0.1)
        assert raised.value.rank == left and raised.value.communicator_usable
        comm.barrier()
        # What was given up takes no message.
        comm.send(sent[:2], right)
        assert comm.recv(got, left) == (left, 0, 2)
        del receive

    allhands.run(check, 3)


def test_a_receive_from_who_has_left_is_an_error():
    def check(comm):
        if comm.rank == 0:
            with pytest.raises(allhands.Error, match="rank 1"):
                comm.recv(numpy.zeros(1), 1)

    allhands.run(check, 2)


def test_who_aborts_waits_no_longer():
    def check(comm):
        other = comm.dup()
        if comm.rank == 0:
            threading.Timer(0.2, other.abort).start()
            began = time.monotonic()
            with pytest.raises(allhands.Interrupted, match="aborted"):
                other.recv(numpy.zeros(1), 1)
            with pytest.raises(allhands.Interrupted, match="in barrier for rank 1"):
                other.barrier()
            assert time.monotonic() - began < 1.0
        assert comm.allreduce(numpy.ones(1))[0] == comm.size

    allhands.run(check, 2)


def test_ranks_that_differ_are_named():
    def check(comm):
        with pytest.raises(allhands.Mismatch, match="different calls") as raised:
            comm.allreduce(numpy.zeros(4 + comm.rank))
        assert not raised.value.communicator_usable
        return str(raised.value)

    for said in allhands.run(check, 2):
        assert "40 on rank 1 and 32 on rank 0" in said or "32 on rank 0 and 40 on rank 1" in said, said


def test_a_rank_that_is_killed_is_named():
    def check(comm):
        if comm.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(allhands.RankLost) as raised:
            comm.allreduce(numpy.zeros(1000))
        assert time.monotonic() - began < 1.0
        raise raised.value

    with pytest.raises(allhands.RankLost) as raised:
        allhands.run(check, 3)
    assert raised.value.rank == 1


def test_who_does_not_come_in_time_is_named():
    def check(comm):
        comm.set_timeout(0.2)
        if comm.rank == 2:
            time.sleep(1.0)
            with pytest.raises(allhands.Error):
                comm.barrier()
            return None
        with pytest.raises(TimeoutError, match="in barrier for rank 2") as raised:
            comm.barrier()
        assert raised.value.rank == 2
        return None

    allhands.run(check, 3)


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_ctrl_c_ends_a_wait(late):
    """Whether the program has set its handler before it joined or after."""
    # Rank 1 calls only then: however late rank 0 is, nobody is there for its barrier.
    interrupted = multiprocessing.get_context("fork").Event()

    def check(comm):
        if comm.rank == 1:
            assert interrupted.wait(30)
            with pytest.raises(allhands.RankLost):
                comm.barrier()
            return
        if late:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt, match="in barrier for rank 1, and was interrupted"):
            comm.barrier()
        interrupted.set()

    # Tests that a shell has started in the background ignore it.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN if late else signal.default_int_handler)
    try:
        allhands.run(check, 2)
    finally:
        signal.signal(signal.SIGINT, before)


def test_numbers_agree():
    """What adapters call by numbers is what has those names."""

    def check(comm):
        from allhands._types import ELEMENT, FORM, OPERATOR

        def by_number(form, array, op):
            result = array.copy()
            side = result.ctypes.data, result.size
            comm._call(FORM[form], ELEMENT[array.dtype.name], None, side, 0, OPERATOR[op], result, False)
            return result

        for op in OPERATOR:
            array = numpy.array([3, 5, 0, 8], numpy.int32) + 2 * comm.rank
            for form in ("allreduce", "scan"):
                numpy.testing.assert_array_equal(by_number(form, array, op), getattr(comm, form)(array, op=op), op)
        # Types of one length differ in which of some random bits are the greatest; complex numbers, in their sums.
        bits = numpy.random.default_rng(comm.rank).integers(0, 256, 64 * 16, numpy.uint8)
        for kind in TYPES:
            op = "sum" if kind.kind == "c" else "max"
            array = bits.view(kind)
            assert by_number("allreduce", array, op).tobytes() == comm.allreduce(array, op=op).tobytes(), kind
        return comm.rank, comm.size, repr(comm)

    assert allhands.run(check, 2)[0] == (0, 2, "<allhands.Communicator rank 0 of 2>")
