"""JAX's psum by this library beside JAX's Gloo, on one machine: microseconds of one in a loop that XLA has compiled, medians of rounds.

    python jax_gloo.py [RANKS]

A process takes one of the two for good, so that worlds of both are started by turns, each of which times several lengths.
"""

import collections
import json
import os
import socket
import statistics
import subprocess
import sys
import time

LENGTHS = {8: 2000, 4 << 10: 1000, 64 << 10: 200, 1 << 20: 20}
WORLDS = 3
ROUNDS = 7


def rank_main(implementation, rank, size, port):
    import allhands.jax

    if implementation == "allhands":
        allhands.jax.use()
    import jax
    import numpy
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    if implementation == "gloo":
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"localhost:{port}", size, rank)
    mesh = Mesh(numpy.array(jax.devices()), ("all",))
    here = NamedSharding(mesh, P("all"))
    found = {}
    for length, repeats in LENGTHS.items():

        def loop(x):
            # The mean keeps ones ones, and each call waits for the one before.
            return jax.lax.fori_loop(0, repeats, lambda _, x: jax.lax.psum(x, "all") / size, x)

        call = jax.jit(jax.shard_map(loop, mesh=mesh, in_specs=P("all"), out_specs=P("all"), check_vma=False))
        ones = jax.make_array_from_callback((size, length // 4), here, lambda index: numpy.ones((1, length // 4), numpy.float32))
        assert (numpy.asarray(call(ones).addressable_shards[0].data) == 1).all()
        times = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            call(ones).block_until_ready()
            times.append((time.perf_counter() - began) / repeats * 1e6)
        found[length] = times
    if rank == 0:
        print(json.dumps(found), flush=True)
    os._exit(0)


def world(implementation, size):
    """Times of each length in a world of its own."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "allhands.run", "-n", str(size), __file__, implementation, str(port)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    lines = [line for line in ran.stdout.splitlines() if "{" in line]
    assert lines, ran.stderr[-4000:]
    return json.loads(lines[0][lines[0].index("{") :])


def main():
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    found = {"allhands": collections.defaultdict(list), "gloo": collections.defaultdict(list)}
    for _ in range(WORLDS):
        for implementation, times in found.items():
            for length, rounds in world(implementation, size).items():
                times[length] += rounds
    for length in map(str, LENGTHS):
        medians = {name: statistics.median(times[length]) for name, times in found.items()}
        shown = ", ".join(f"{name} {medians[name]:.2f} [{min(times[length]):.2f}, {max(times[length]):.2f}]" for name, times in found.items())
        print(f"{size} psum of {length} B: {shown}: {medians['gloo'] / medians['allhands']:.1f} times", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        import allhands

        comm = allhands.world()
        rank_main(sys.argv[1], comm.rank, comm.size, sys.argv[2])
    else:
        main()
