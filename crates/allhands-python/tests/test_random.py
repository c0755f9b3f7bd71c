"""Collectives of random lengths, types and roots, one after another: every bit. ALLHANDS_TEST_TURNS says how many of each."""

import os

import allhands
import numpy
import pytest

TURNS = int(os.environ.get("ALLHANDS_TEST_TURNS", "200"))
TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"]


def turns(comm):
    """Makes the calls; every rank draws the same numbers, and so knows what all of them have."""
    draw = numpy.random.default_rng(11)
    p, rank = comm.size, comm.rank
    for _ in range(TURNS):
        kind = numpy.dtype(TYPES[draw.integers(len(TYPES))])
        count, root = int(draw.integers(0, 200)), int(draw.integers(p))
        # Small enough that every sum is exact.
        whole = draw.integers(0, 4, (p, p, count)).astype(kind)
        mine = whole[rank]
        total = whole.sum(0, dtype=kind)
        same(comm.allreduce(mine[0]), total[0])
        same(comm.allreduce(mine[0], op="product"), whole[:, 0].prod(0, dtype=kind))
        found = comm.reduce(mine[0], root=root)
        if rank == root:
            same(found, total[0])
        same(comm.broadcast(mine[0].copy(), root), whole[root, 0])
        same(comm.allgather(mine[0]), whole[:, 0])
        found = comm.gather(mine[0], root=root)
        if rank == root:
            same(found, whole[:, 0])
        same(comm.scatter(mine if rank == root else None, numpy.empty(count, kind), root), whole[root, rank])
        same(comm.alltoall(mine), whole[:, rank])
        same(comm.reduce_scatter(mine).reshape(count), total[rank])
        same(comm.scan(mine[0]), whole[: rank + 1, 0].sum(0, dtype=kind))
        comm.barrier()


def same(found, right):
    assert found.dtype == right.dtype and found.tobytes() == right.tobytes()


@pytest.mark.parametrize("size", [2, 4, 8])
def test_every_bit_is_right(size):
    allhands.run(turns, size)
