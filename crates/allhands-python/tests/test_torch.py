"""The backend of torch.distributed: every call of it on every kind of tensor, beside what the values must be."""

import os
import signal
import time
from datetime import timedelta

import pytest

torch = pytest.importorskip("torch")
import allhands.torch  # noqa: E402
from allhands._core import in_order  # noqa: E402
from allhands._types import ELEMENT  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as multiprocessing  # noqa: E402

TYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int32, torch.int64, torch.uint8, torch.int8]


def _rank(rank, size, file, check, arguments):
    torch.set_num_threads(1)
    dist.init_process_group("allhands", init_method=f"file://{file}", rank=rank, world_size=size, timeout=timedelta(seconds=30))
    try:
        check(rank, size, *arguments)
    finally:
        dist.destroy_process_group()


def ranks(size, tmp_path, check, *arguments):
    """Has so many processes call a function of this module."""
    multiprocessing.spawn(_rank, (size, str(tmp_path / "store"), check, arguments), nprocs=size)


def every_call(rank, size, kind):
    own = lambda r, n=6: (torch.arange(n) % 3 + r).to(kind)
    everyone = [own(r) for r in range(size)]
    total = torch.stack(everyone).sum(0).to(kind)

    tensor = own(rank)
    dist.all_reduce(tensor)
    assert torch.equal(tensor, total)
    tensor = own(rank)
    work = dist.all_reduce(tensor, op=dist.ReduceOp.MAX, async_op=True)
    work.wait()
    assert torch.equal(tensor, everyone[-1])
    tensor = own(rank)
    dist.broadcast(tensor, size - 1)
    assert torch.equal(tensor, everyone[-1])
    tensor = own(rank)
    dist.reduce(tensor, 0)
    if rank == 0:
        assert torch.equal(tensor, total)
    parts = [torch.zeros(6, dtype=kind) for _ in range(size)]
    dist.all_gather(parts, own(rank))
    assert all(map(torch.equal, parts, everyone))
    whole = torch.zeros(6 * size, dtype=kind)
    dist.all_gather_into_tensor(whole, own(rank))
    assert torch.equal(whole, torch.cat(everyone))
    part = torch.zeros(6, dtype=kind)
    dist.reduce_scatter_tensor(part, torch.cat([own(rank)] * size))
    assert torch.equal(part, total)
    part = torch.zeros(6, dtype=kind)
    dist.reduce_scatter(part, [own(rank)] * size)
    assert torch.equal(part, total)
    parts = [torch.zeros(6, dtype=kind) for _ in range(size)] if rank == 0 else None
    dist.gather(own(rank), parts, 0)
    if rank == 0:
        assert all(map(torch.equal, parts, everyone))
    part = torch.zeros(6, dtype=kind)
    dist.scatter(part, everyone if rank == 0 else None, 0)
    assert torch.equal(part, own(rank))
    dist.barrier()


def exchanges(rank, size):
    source = torch.arange(2 * size) + 100 * rank
    output = torch.zeros(2 * size, dtype=torch.int64)
    dist.all_to_all_single(output, source)
    assert output.tolist() == [100 * s + 2 * rank + i for s in range(size) for i in range(2)]
    # Rank s has s + d rows for rank d.
    sends, receives = [rank + d for d in range(size)], [s + rank for s in range(size)]
    source = torch.full((sum(sends), 3), float(rank))
    output = torch.zeros(sum(receives), 3)
    dist.all_to_all_single(output, source, receives, sends)
    assert torch.equal(output[:, 1], torch.cat([torch.full((n,), float(s)) for s, n in enumerate(receives)]))
    outputs = [torch.zeros(1) for _ in range(size)]
    dist.all_to_all(outputs, [torch.tensor([float(10 * rank + d)]) for d in range(size)])
    assert [int(part) for part in outputs] == [10 * s + rank for s in range(size)]
    tensor = torch.full((2, 2), float(rank)).T
    dist.all_reduce(tensor, op=dist.ReduceOp.AVG)
    assert torch.equal(tensor, torch.full((2, 2), (size - 1) / 2))
    scattered = torch.zeros(4, 4)[::2, ::2]
    scattered += rank + 1
    dist.all_reduce(scattered)
    assert torch.equal(scattered, torch.full((2, 2), size * (size + 1) / 2))


def messages(rank, size):
    right, left = (rank + 1) % size, (rank - 1) % size
    got = torch.zeros(1000)
    if rank == 0:
        dist.send(torch.full((1000,), 7.0), right)
        assert dist.recv(got, left) == left
    else:
        assert dist.recv(got) == left
        dist.send(got, right)
    assert torch.equal(got, torch.full((1000,), 7.0))


def messages_under_way(rank, size):
    """Long messages both ways at once, and a receive that nobody answers."""
    right, left = (rank + 1) % size, (rank - 1) % size
    sent, got = torch.full((1 << 20,), float(rank)), torch.zeros(1 << 20)
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, sent, right), dist.P2POp(dist.irecv, got, left)])
    total = torch.ones(3)
    dist.all_reduce(total)
    for work in works:
        work.wait()
    assert got[0] == left and got[-1] == left and total[0] == size
    done = []
    got = torch.zeros(4, 4)[:, ::2]
    work = dist.irecv(got, left)
    work.get_future().then(lambda future: done.append(future.value()))
    dist.send(torch.full((4, 2), 5.0), right)
    work.wait()
    assert torch.equal(got, torch.full((4, 2), 5.0))
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=f"from rank {left} had not ended after its timeout"):
        dist.irecv(torch.zeros(2), left, tag=9).wait(timedelta(seconds=0.2))
    assert 0.2 <= time.monotonic() - began < 1.0
    dist.barrier()


def is_monitored(rank, size):
    dist.monitored_barrier()
    began = time.monotonic()
    if rank == 0:
        with pytest.raises(RuntimeError, match="Ranks 1, 2 failed to pass monitoredBarrier"):
            dist.monitored_barrier(timeout=timedelta(seconds=0.3), wait_all_ranks=True)
        assert time.monotonic() - began < 1.0
    dist.barrier()


def aborts(rank, size):
    group = dist.new_group()
    if rank == 0:
        import threading

        threading.Timer(0.2, group.abort).start()
        with pytest.raises(allhands.Interrupted):
            dist.all_reduce(torch.ones(3), group=group)
        with pytest.raises(allhands.Interrupted):
            dist.all_reduce(torch.ones(3), group=group)
    # The others' groups are as they were.
    tensor = torch.ones(3)
    dist.all_reduce(tensor)
    assert tensor[0] == size


def sums_sparse(rank, size):
    tensor = torch.sparse_coo_tensor([[rank, 7]], [[1.0, 2.0], [float(rank), 1.0]], (8, 2))
    dist.all_reduce(tensor)
    wanted = torch.zeros(8, 2)
    for r in range(size):
        wanted[r] += torch.tensor([1.0, 2.0])
        wanted[7] += torch.tensor([float(r), 1.0])
    assert torch.equal(tensor.to_dense(), wanted)


def differs(rank, size):
    """The lengths of both sides are named, and both ranks."""
    tensor = torch.zeros(4 if rank == 0 else 5)
    with pytest.raises(allhands.Error) as raised:
        dist.all_reduce(tensor)
    says = str(raised.value)
    assert all(words in says for words in ("16 on rank 0", "20 on rank 1")), says
    os._exit(0)


def groups(rank, size):
    halves = [dist.new_group(list(range(start, size, 2))) for start in (0, 1)]
    tensor = torch.ones(3)
    dist.all_reduce(tensor, group=halves[rank % 2])
    assert tensor[0] == len(range(rank % 2, size, 2))
    dist.barrier()


def trains(rank, size):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    reference = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    reference.load_state_dict(model.state_dict())
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    batches = torch.randn(5, 4 * size, 8)
    for of, rows in ((parallel, slice(4 * rank, 4 * rank + 4)), (reference, slice(None))):
        descent = torch.optim.SGD(of.parameters(), lr=0.1)
        for batch in batches:
            descent.zero_grad()
            of(batch[rows]).square().mean().backward()
            descent.step()
    for one, other in zip(model.parameters(), reference.parameters()):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def dies(rank, size):
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    began = time.monotonic()
    with pytest.raises(allhands.RankLost, match="rank 1") as raised:
        dist.all_reduce(torch.zeros(1000))
    assert time.monotonic() - began < 1.0 and raised.value.rank == 1
    os._exit(0)


def is_late(rank, size):
    dist.barrier()
    group = dist.new_group(timeout=timedelta(seconds=0.3))
    if rank == 1:
        time.sleep(1.0)
        os._exit(0)
    with pytest.raises(TimeoutError, match="for rank 1"):
        dist.all_reduce(torch.zeros(3), group=group)
    os._exit(0)


def goes_on_without_the_interpreter(rank, size):
    """A rank that holds the interpreter's lock for 100 ms delays nobody."""
    tensor = torch.ones(1 << 20)
    dist.barrier()
    work = dist.all_reduce(tensor, async_op=True)
    began = time.monotonic()
    if rank == 0:
        # One operation of bytecode that takes long, and lets no other thread run.
        sum(range(6_000_000))
        held = time.monotonic() - began
        assert held > 0.05, held
    work.wait()
    if rank != 0:
        assert time.monotonic() - began < 0.09, time.monotonic() - began
    assert tensor[0] == size


def test_where_a_tensor_is_told_in_one_call():
    where = lambda tensor: in_order(tensor, torch.Tensor)
    matrix = torch.zeros(4, 6)
    for name, number in ELEMENT.items():
        tensor = matrix.to(getattr(torch, name))
        assert where(tensor) == (number, (tensor.data_ptr(), 24))
        assert where(tensor[1:3]) == (number, (tensor.data_ptr() + 6 * tensor.itemsize, 12))
    for tensor in (torch.tensor(3.0), torch.ones(5, requires_grad=True), torch.zeros(0, 3), matrix[:, :1][2:3]):
        assert where(tensor) in (None, (ELEMENT["float32"], (tensor.data_ptr(), tensor.numel())))
    assert where(torch.tensor(3.0)) is not None
    others = (matrix.T, matrix[:, 1:], matrix.to_sparse(), matrix.to(torch.float8_e4m3fn), torch.zeros(3, device="meta"), torch.nn.Parameter(matrix), 3)
    assert [where(other) for other in others] == [None] * len(others)
    assert in_order(3, int) is None


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_every_call(tmp_path, kind):
    ranks(3, tmp_path, every_call, kind)


@pytest.mark.parametrize("check", [exchanges, messages, messages_under_way, sums_sparse, groups, trains], ids=lambda check: check.__name__)
@pytest.mark.parametrize("size", [2, 4])
def test_several(tmp_path, check, size):
    ranks(size, tmp_path, check)


def test_who_has_not_come_is_told(tmp_path):
    ranks(3, tmp_path, is_monitored)


def test_a_group_is_aborted(tmp_path):
    ranks(3, tmp_path, aborts)


def test_tensors_of_two_shapes_are_told(tmp_path):
    ranks(2, tmp_path, differs)


def test_a_rank_that_dies_is_named(tmp_path):
    with pytest.raises(multiprocessing.ProcessExitedException, match="process 1 terminated with signal SIGKILL"):
        ranks(3, tmp_path, dies)


def test_a_rank_that_is_late_is_named(tmp_path):
    ranks(2, tmp_path, is_late)


def test_calls_go_on_without_the_interpreter(tmp_path):
    ranks(2, tmp_path, goes_on_without_the_interpreter)
