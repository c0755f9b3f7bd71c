"""What collectives take here, beside Gloo's where PyTorch is installed."""

import os
import time

SIZES = [8, 512, 8 << 10, 64 << 10, 1 << 20]
ROUNDS = 5


def bench(n=2, sizes=SIZES, seconds=0.05):
    """Prints what an allreduce of float32 among `n` processes of this machine takes, in microseconds: the median of rounds that take turns with Gloo's.

    Gives a list of rows, `(bytes, ours, Gloo's or None)`. Each round of a size lasts about `seconds`.
    """
    # What takes long to import waits until it is needed, as everyone imports this module.
    import tempfile

    from ._processes import run

    with tempfile.TemporaryDirectory() as folder:
        rows = run(_measure, n, list(sizes), seconds, os.path.join(folder, "gloo"))[0]
    print(f"allreduce of float32 among {n} processes, median of {ROUNDS} rounds, us")
    print(f"{'bytes':>9} {'allhands':>10} {'gloo':>10} {'times':>7}")
    for size, ours, gloo in rows:
        there = f"{gloo:10.1f} {gloo / ours:7.1f}" if gloo is not None else f"{'-':>10} {'-':>7}"
        print(f"{size:9} {ours:10.2f} {there}")
    return rows


def _measure(comm, sizes, seconds, file):
    from statistics import median

    import numpy

    gloo = _gloo(comm, file)
    rows = []
    for size in sizes:
        array = numpy.ones(size // 4, numpy.float32)
        calls = {"ours": lambda: comm.allreduce(array, array)}
        if gloo is not None:
            calls["gloo"] = gloo(size // 4)
        found = {name: [] for name in calls}
        repeats = {name: _repeats(comm, call, seconds) for name, call in calls.items()}
        for _ in range(ROUNDS):
            for name, call in calls.items():
                found[name].append(_round(comm, call, repeats[name]))
                array.fill(1)
        rows.append((size, median(found["ours"]), median(found["gloo"]) if gloo else None))
    return rows


def _round(comm, call, repeats):
    """Microseconds a call, of the rank that needs longest."""
    import numpy

    comm.barrier()
    began = time.perf_counter()
    for _ in range(repeats):
        call()
    own = numpy.array([(time.perf_counter() - began) / repeats * 1e6])
    return float(comm.allreduce(own, op="max")[0])


def _repeats(comm, call, seconds):
    each = _round(comm, call, 5)
    return max(5, min(10_000, int(seconds * 1e6 / max(each, 0.1))))


def _gloo(comm, file):
    """What makes calls of Gloo, if PyTorch is here."""
    try:
        import torch
        import torch.distributed as dist
    except ImportError:
        return None
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=comm.rank, world_size=comm.size)

    def of(elements):
        tensor = torch.ones(elements)
        return lambda: dist.all_reduce(tensor)

    return of
