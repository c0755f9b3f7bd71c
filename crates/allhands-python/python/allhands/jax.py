"""JAX on the processor, with this library for its collectives.

    import allhands.jax
    allhands.jax.use()
    import jax
    jax.distributed.initialize("localhost:1234", comm.size, comm.rank)

jaxlib takes any library with the MPItrampoline ABI for an MPI: this package's extension module is one. Ranks are those of `allhands.world()`, by whatever
launcher has started them; JAX's own `process_id` must be the same.
"""

import os

from . import _core


def library():
    """The path of the library that `MPITRAMPOLINE_LIB` is to name."""
    return _core.__file__


def use():
    """Has JAX take this library for its collectives; gives `allhands.world()`. To be called before JAX's first computation."""
    import allhands

    comm = allhands.world()
    given = os.environ.setdefault("MPITRAMPOLINE_LIB", library())
    if given != library():
        raise ValueError(f"MPITRAMPOLINE_LIB is {given}; right would be {library()}, or nothing")
    number = os.environ.setdefault("JAX_PROCESS_ID", str(comm.rank))
    if number != str(comm.rank):
        raise ValueError(f"JAX_PROCESS_ID is {number}, and this is rank {comm.rank} of {comm.size}; right would be the same")
    import jax
    from jax._src import distributed

    number = distributed.global_state.process_id
    if distributed.global_state.client is not None and number != comm.rank:
        raise ValueError(f"JAX's process_id is {number}, and this is rank {comm.rank} of {comm.size}; right would be the same")
    jax.config.update("jax_cpu_collectives_implementation", "mpi")
    return comm
