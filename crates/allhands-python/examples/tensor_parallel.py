"""The network of ddp.py with each layer's columns, and then rows, split among ranks (DTensor): the same result.

    torchrun --nproc-per-node 2 tensor_parallel.py
"""

import torch
import torch.distributed as dist
from ddp import network
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

if __name__ == "__main__":
    dist.init_process_group("allhands")
    rank, size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (size,))
    parallel = parallelize_module(network(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    x = torch.randn(16, 10, generator=torch.Generator().manual_seed(5))
    alone = network()
    torch.testing.assert_close(parallel(x), alone(x), rtol=1e-4, atol=1e-6)
    parallel(x).square().mean().backward()
    alone(x).square().mean().backward()
    for ours, right in zip(parallel.parameters(), alone.parameters()):
        torch.testing.assert_close(ours.grad.full_tensor(), right.grad, rtol=1e-4, atol=1e-6)
    if rank == 0:
        print(f"{size} ranks have computed what one process does, each with its part of the layers")
    dist.destroy_process_group()
