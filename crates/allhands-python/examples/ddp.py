"""A small network, trained by data parallel ranks: its weights are those that one process finds with the whole batch.

    torchrun --nproc-per-node 2 ddp.py
"""

import torch
import torch.distributed as dist

STEPS, BATCH = 20, 32


def network():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))


def train(model, rows):
    descent = torch.optim.SGD(model.parameters(), lr=0.05)
    draw = torch.Generator().manual_seed(5)
    for _ in range(STEPS):
        x = torch.randn(BATCH, 10, generator=draw)
        y = x.sum(1, keepdim=True).sin()
        descent.zero_grad()
        (model(x[rows]) - y[rows]).square().mean().backward()
        descent.step()


if __name__ == "__main__":
    dist.init_process_group("allhands")
    rank, size = dist.get_rank(), dist.get_world_size()
    share = BATCH // size
    parallel = torch.nn.parallel.DistributedDataParallel(network())
    train(parallel, slice(rank * share, (rank + 1) * share))
    alone = network()
    train(alone, slice(0, share * size))
    for ours, right in zip(parallel.module.parameters(), alone.parameters()):
        torch.testing.assert_close(ours, right, rtol=1e-4, atol=1e-6)
    if rank == 0:
        print(f"{size} ranks have trained what one process does")
    dist.destroy_process_group()
