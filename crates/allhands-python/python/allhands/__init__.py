"""Collective communication between processes: numpy arrays, PyTorch tensors and JAX arrays on the processor, without an MPI.

    import allhands, numpy
    comm = allhands.world()
    total = comm.allreduce(numpy.full(3, comm.rank))

`python -m allhands.run -n 4 program.py` starts four of them; `allhands.run(function, 4)` does from within a program or notebook.
"""

import os as _os

from . import _core
from ._core import Communicator, Request, meet
from ._errors import ArgumentError, Error, Interrupted, LaunchError, Mismatch, RankLost, Timeout
from ._bench import bench
from ._processes import run

__all__ = [
    "ArgumentError",
    "Communicator",
    "Error",
    "Interrupted",
    "LaunchError",
    "Mismatch",
    "RankLost",
    "Request",
    "Timeout",
    "bench",
    "meet",
    "run",
    "world",
]


def world():
    """The communicator of all ranks that were started with this process; of this process alone, if nothing says that there are others.

    The ranks are those of `python -m allhands.run`, `allhands.run`, an MPI's or Slurm's launcher, or torchrun. It is the same one each time.
    """
    global _of_torch
    if _of_torch is None:
        _of_torch = _is_of_torchrun()
        if _of_torch:
            _core.set_world(_meet_by_torchrun())
    return _core.world()


_of_torch = None


def _is_of_torchrun():
    ours = any(name in _os.environ for name in ("ALLHANDS_RANK", "ALLHANDS_RENDEZVOUS"))
    return not ours and "TORCHELASTIC_RUN_ID" in _os.environ


def _meet_by_torchrun():
    """Ranks of torchrun find one another by the store of its agent."""
    from datetime import timedelta

    from torch.distributed import PrefixStore, TCPStore

    rank, size = (int(_os.environ[name]) for name in ("RANK", "WORLD_SIZE"))
    host, port = _os.environ["MASTER_ADDR"], int(_os.environ["MASTER_PORT"])
    is_master = rank == 0 and _os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    store = TCPStore(host, port, size, is_master, timeout=timedelta(seconds=120))
    attempt = _os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return meet(PrefixStore(f"allhands/{attempt}", store), rank, size)
