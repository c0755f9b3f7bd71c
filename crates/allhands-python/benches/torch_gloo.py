"""torch.distributed's collectives by this backend beside Gloo's, by turns in one run: medians of rounds and their quartiles, in microseconds.

    python torch_gloo.py [RANKS [SECONDS]]
"""

import math
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing

SIZES = [8, 512, 8 << 10, 64 << 10, 256 << 10, 1 << 20, 16 << 20]
KINDS = [torch.float32, torch.bfloat16]
ROUNDS = 5


def calls(kind, elements, size):
    """Each collective on so many elements, as a function of a group."""
    whole, part = torch.ones(elements, dtype=kind), torch.ones(max(elements // size, 1), dtype=kind)
    even = torch.ones(part.numel() * size, dtype=kind)
    other = torch.ones_like(even)
    return {
        "all_reduce": lambda group: dist.all_reduce(whole, group=group),
        "broadcast": lambda group: dist.broadcast(whole, 0, group=group),
        "all_gather_into_tensor": lambda group: dist.all_gather_into_tensor(even, part, group=group),
        "reduce_scatter_tensor": lambda group: dist.reduce_scatter_tensor(part, even, group=group),
        "all_to_all_single": lambda group: dist.all_to_all_single(other, even, group=group),
        "barrier": lambda group: dist.barrier(group=group),
    }, whole, part, even


def timed(call, group, repeats, ours):
    dist.barrier(group=ours)
    began = time.perf_counter()
    for _ in range(repeats):
        call(group)
    taken = torch.tensor([(time.perf_counter() - began) / repeats * 1e6])
    dist.all_reduce(taken, dist.ReduceOp.MAX, group=ours)
    return taken.item()


def rank_main(rank, size, store, seconds):
    torch.set_num_threads(1)
    dist.init_process_group("allhands", init_method=f"file://{store}", rank=rank, world_size=size)
    groups = {"allhands": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}
    ours = groups["allhands"]
    factors = {}
    for kind in KINDS:
        for bytes_ in SIZES:
            all_calls, *tensors = calls(kind, bytes_ // kind.itemsize, size)
            for name, call in all_calls.items():
                if name == "barrier" and (bytes_ > 8 or kind is not KINDS[0]):
                    continue
                found = {}
                repeats = {}
                for backend, group in groups.items():
                    once = timed(call, group, 3, ours)
                    repeats[backend] = max(2, min(2000, int(seconds * 1e6 / once / ROUNDS)))
                for _ in range(ROUNDS):
                    for backend, group in groups.items():
                        for tensor in tensors:
                            tensor.fill_(1)
                        found.setdefault(backend, []).append(timed(call, group, repeats[backend], ours))
                if rank == 0:
                    show(size, kind, bytes_, name, found, factors)
    if rank == 0:
        for title, of in factors.items():
            mean = math.exp(statistics.fmean(map(math.log, of)))
            print(f"{size} ranks, {title}: {mean:.1f} times, least {min(of):.2f}, of {len(of)} cells")
    dist.barrier()
    dist.destroy_process_group()


def show(size, kind, bytes_, name, found, factors):
    quartiles = {backend: statistics.quantiles(times, n=4) for backend, times in found.items()}
    (a, ours, b), (c, gloo, d) = quartiles["allhands"], quartiles["gloo"]
    title = "to 64 KB" if bytes_ < 64 << 10 else "64 KB to 1 MB" if bytes_ <= 1 << 20 else "16 MB"
    factors.setdefault(title, []).append(gloo / ours)
    kind = str(kind).removeprefix("torch.")
    print(f"{size} {kind:8} {name:22} {bytes_:9} {ours:9.1f} [{a:.1f}, {b:.1f}] {gloo:9.1f} [{c:.1f}, {d:.1f}] {gloo / ours:6.1f}", flush=True)


if __name__ == "__main__":
    ranks = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(rank_main, (ranks, f"{folder}/store", seconds), nprocs=ranks)
