"""The backend `ALLHANDS` of ray.util.collective, for arrays of numpy and tensors on the processor.

    import allhands.ray
    allhands.ray.register()          # in every worker
    ray.util.collective.init_collective_group(size, rank, backend="ALLHANDS", group_name="all")

Ranks find one another by Ray's own store of keys and values.
"""

import time

import allhands

# For so long a rank waits for another one's address.
PATIENCE_S = 120.0


class _Store:
    """Ray's internal store of keys and values, of which `get` waits."""

    def set(self, key, value):
        from ray.experimental.internal_kv import _internal_kv_put

        _internal_kv_put(key.encode(), value.encode(), overwrite=True)

    def get(self, key):
        from ray.experimental.internal_kv import _internal_kv_get

        until = time.monotonic() + PATIENCE_S
        while True:
            value = _internal_kv_get(key.encode())
            if value is not None:
                return value.decode()
            if time.monotonic() > until:
                raise TimeoutError(f"no rank has set {key} within {PATIENCE_S:.0f} s")
            time.sleep(0.002)


def _name(options):
    """What this library calls the reduction of Ray's options."""
    names = {"SUM": "sum", "PRODUCT": "product", "MIN": "min", "MAX": "max"}
    return names[options.reduceOp.name]


def group_class(base):
    """The class of groups, which derives from Ray's `BaseGroup`."""

    class AllhandsGroup(base):
        """A group of Ray's workers, by a communicator of its own."""

        def __init__(self, world_size, rank, group_name, store=None):
            super().__init__(world_size, rank, group_name)
            self._comm = allhands.meet(store or _Store(), rank, world_size, f"allhands/{group_name}")

        @classmethod
        def backend(cls):
            return "ALLHANDS"

        @classmethod
        def check_backend_availability(cls):
            return True

        def destroy_group(self):
            self._comm = None

        def barrier(self, options=None):
            self._comm.barrier()

        def allreduce(self, tensors, options):
            (tensor,) = _listed(tensors)
            self._comm.allreduce(tensor, tensor, _name(options))

        def reduce(self, tensors, options):
            (tensor,) = _listed(tensors)
            found = self._comm.reduce(tensor, None, _name(options), options.root_rank)
            if found is not None:
                tensor[...] = found

        def broadcast(self, tensors, options):
            (tensor,) = _listed(tensors)
            self._comm.broadcast(tensor, options.root_rank)

        def allgather(self, outputs, tensors, options=None):
            (tensor,) = _listed(tensors)
            (parts,) = outputs if isinstance(outputs[0], (list, tuple)) else (outputs,)
            for part, found in zip(parts, self._comm.allgather(tensor)):
                part[...] = found

        def reducescatter(self, tensors, inputs, options):
            (output,) = _listed(tensors)
            (parts,) = inputs if isinstance(inputs[0], (list, tuple)) else (inputs,)
            self._comm.reduce_scatter(_stacked(parts), output, _name(options))

        def send(self, tensors, options):
            (tensor,) = _listed(tensors)
            self._comm.send(tensor, options.dst_rank)

        def recv(self, tensors, options):
            (tensor,) = _listed(tensors)
            self._comm.recv(tensor, options.src_rank)

    return AllhandsGroup


def _listed(tensors):
    return tensors if isinstance(tensors, (list, tuple)) else [tensors]


def _stacked(parts):
    if hasattr(parts[0], "new_empty"):
        import torch

        return torch.stack(list(parts))
    import numpy

    return numpy.stack(parts)


def register():
    """Tells Ray of the backend."""
    from ray.util.collective.backend_registry import register_collective_backend
    from ray.util.collective.collective_group.base_collective_group import BaseGroup

    register_collective_backend("ALLHANDS", group_class(BaseGroup))
