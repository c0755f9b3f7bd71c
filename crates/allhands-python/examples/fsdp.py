"""The network of ddp.py with its weights split among ranks (FSDP2): the same weights.

    torchrun --nproc-per-node 2 fsdp.py
"""

import torch
import torch.distributed as dist
from ddp import BATCH, network, train
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

if __name__ == "__main__":
    dist.init_process_group("allhands")
    rank, size = dist.get_rank(), dist.get_world_size()
    share = BATCH // size
    mesh = init_device_mesh("cpu", (size,))
    parallel = network()
    for layer in parallel:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(parallel, mesh=mesh)
    train(parallel, slice(rank * share, (rank + 1) * share))
    alone = network()
    train(alone, slice(0, share * size))
    for ours, right in zip(parallel.parameters(), alone.parameters()):
        torch.testing.assert_close(ours.full_tensor(), right, rtol=1e-4, atol=1e-6)
    if rank == 0:
        print(f"{size} ranks have trained what one process does, each with its part of the weights")
    dist.destroy_process_group()
