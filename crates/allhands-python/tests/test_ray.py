"""The backend of ray.util.collective: every call of it among Ray's actors."""

import sys

import numpy
import pytest

ray = pytest.importorskip("ray")
# Ray's processes do not find this file wherever the tests are run.
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])

SIZE = 3


class Worker:
    """One rank."""

    def __init__(self, rank):
        import allhands.ray
        from ray.util import collective

        allhands.ray.register()
        collective.init_collective_group(SIZE, rank, backend="ALLHANDS", group_name="all")
        self.rank, self.collective = rank, collective

    def own(self, rank=None):
        return numpy.arange(4.0) + (self.rank if rank is None else rank)

    def check(self):
        from ray.util.collective.types import ReduceOp

        collective, everyone = self.collective, [self.own(rank) for rank in range(SIZE)]
        array = self.own()
        collective.allreduce(array, "all")
        numpy.testing.assert_array_equal(array, sum(everyone))
        array = self.own()
        collective.allreduce(array, "all", ReduceOp.MAX)
        numpy.testing.assert_array_equal(array, everyone[-1])
        array = self.own()
        collective.broadcast(array, 1, "all")
        numpy.testing.assert_array_equal(array, everyone[1])
        array = self.own()
        collective.reduce(array, 2, "all")
        if self.rank == 2:
            numpy.testing.assert_array_equal(array, sum(everyone))
        parts = [numpy.zeros(4) for _ in range(SIZE)]
        collective.allgather(parts, self.own(), "all")
        numpy.testing.assert_array_equal(parts, everyone)
        array = numpy.zeros(4)
        collective.reducescatter(array, [self.own()] * SIZE, "all")
        numpy.testing.assert_array_equal(array, sum(everyone))
        if self.rank == 0:
            collective.send(self.own(), 1, "all")
        if self.rank == 1:
            collective.recv(array, 0, "all")
            numpy.testing.assert_array_equal(array, everyone[0])
        collective.barrier("all")
        return self.rank

    def leave(self):
        self.collective.destroy_collective_group("all")


def test_every_call():
    ray.init(num_cpus=SIZE, include_dashboard=False, log_to_driver=False)
    try:
        workers = [ray.remote(Worker).options(num_cpus=1).remote(rank) for rank in range(SIZE)]
        assert ray.get([worker.check.remote() for worker in workers], timeout=120) == list(range(SIZE))
        ray.get([worker.leave.remote() for worker in workers], timeout=60)
    finally:
        ray.shutdown()
