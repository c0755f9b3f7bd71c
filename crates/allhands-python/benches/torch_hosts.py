"""What programs of torch do between hosts, by this backend beside Gloo, by turns in one run: medians of rounds, in milliseconds.

    python torch_hosts.py RANK RANKS STORE [PART...]        # on each host; STORE is a file that all of them see

Parts: `sums`, allreduces of several lengths up to DDP's bucket of 25 MB; `decoding`, the calls of language models that generate a token, as
docs/applications.md has them; `training`, steps of DistributedDataParallel; and, only where it is named, `killed`: the last rank is killed in the middle
of an allreduce of this backend, and the others print what they are told and how long after that. Which network Gloo takes, GLOO_SOCKET_IFNAME says.
"""

import os
import signal
import statistics
import sys
import threading
import time
from datetime import timedelta

import allhands
import torch
import torch.distributed as dist

PATIENCE = timedelta(seconds=120)
# Layers of a model, with two allreduces each, and bytes of each.
MODELS = {"gemma-3-12b": (48, 7680), "codellama-34b": (48, 16384), "llama-3.1-405b": (126, 32768)}
SUMS = {8: 30, 4 << 10: 20, 64 << 10: 10, 1 << 20: 4, 25 << 20: 1}


def compare(title, calls, rounds, repeats=1):
    """Has all ranks make each backend's calls by turns, and prints the medians of the slowest ranks."""
    found = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            dist.barrier()
            began = time.perf_counter()
            for _ in range(repeats):
                call()
            taken = torch.tensor([(time.perf_counter() - began) / repeats * 1e3])
            dist.all_reduce(taken, dist.ReduceOp.MAX)
            found[name].append(taken.item())
    if dist.get_rank() == 0:
        medians = {name: statistics.median(times) for name, times in found.items()}
        shown = ", ".join(f"{name} {medians[name]:.3f} [{min(times):.3f}, {max(times):.3f}]" for name, times in found.items())
        print(f"{dist.get_world_size()} {title:32} {shown}: {medians['gloo'] / medians['allhands']:.2f} times", flush=True)


def sums(groups):
    for length, repeats in SUMS.items():
        tensor = torch.zeros(length // 4)
        calls = {name: lambda group=group: dist.all_reduce(tensor, group=group) for name, group in groups.items()}
        compare(f"sum of {length} B", calls, 5, repeats)


def decoding(groups):
    for model, (layers, length) in MODELS.items():
        hidden = torch.ones(length // 2, dtype=torch.bfloat16)
        token, tokens = torch.zeros(1, dtype=torch.int64), torch.zeros(dist.get_world_size(), dtype=torch.int64)

        def generate(group):
            for _ in range(2 * layers):
                hidden.fill_(1)
                dist.all_reduce(hidden, group=group)
            assert hidden[-1] == dist.get_world_size()
            dist.all_gather_into_tensor(tokens, token, group=group)

        compare(f"token of {model}", {name: lambda group=group: generate(group) for name, group in groups.items()}, 7)


def training(groups):
    steps, inputs = {}, torch.randn(16, 784)
    for name, group in groups.items():
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(784, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
        parallel = torch.nn.parallel.DistributedDataParallel(model, process_group=group)
        descent = torch.optim.SGD(parallel.parameters(), lr=0.01)

        def step(parallel=parallel, descent=descent):
            descent.zero_grad()
            parallel(inputs).square().mean().backward()
            descent.step()

        # The first steps arrange the buckets.
        step(), step()
        steps[name] = step
    parameters = sum(parameter.numel() for parameter in model.parameters())
    compare(f"step of {parameters} parameters", steps, 7)


def killed(groups):
    """Ends every rank: the last one by SIGKILL."""
    tensor, doomed = torch.zeros(max(SUMS) // 4), dist.get_world_size() - 1
    dist.barrier()
    began = time.perf_counter()
    if dist.get_rank() == doomed:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGKILL)).start()
    try:
        while time.perf_counter() - began < 30:
            dist.all_reduce(tensor, group=groups["allhands"])
        print(f"rank {dist.get_rank()}: no error in 30 s", flush=True)
        os._exit(1)
    except allhands.RankLost as error:
        print(f"rank {dist.get_rank()}: {time.perf_counter() - began - 0.2:.2f} s after rank {doomed} was killed: {error}", flush=True)
        os._exit(0 if error.rank == doomed else 1)


DEFAULT_PARTS = {"sums": sums, "decoding": decoding, "training": training}
PARTS = {**DEFAULT_PARTS, "killed": killed}


def main():
    rank, size, store = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(1)
    dist.init_process_group("allhands", init_method=f"file://{store}", rank=rank, world_size=size, timeout=PATIENCE)
    groups = {"allhands": dist.group.WORLD, "gloo": dist.new_group(backend="gloo", timeout=PATIENCE)}
    for part in sys.argv[4:] or DEFAULT_PARTS:
        PARTS[part](groups)
    dist.barrier()
    sys.stdout.flush()
    # Gloo's threads wait for one another for long at a process's end.
    os._exit(0)


if __name__ == "__main__":
    main()
