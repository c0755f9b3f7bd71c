"""Least squares by gradient descent, data parallel in JAX: the weights are those that numpy finds.

    python -m allhands.run -n 2 jax_data_parallel.py
"""

import allhands.jax

comm = allhands.jax.use()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

if __name__ == "__main__":
    port = 20_000 + int(comm.broadcast(numpy.array([__import__("os").getpid() % 20_000]))[0])
    jax.distributed.initialize(f"localhost:{port}", comm.size, comm.rank)
    mesh = Mesh(numpy.array(jax.devices()), ("all",))
    draw = numpy.random.default_rng(2)
    points, truth = draw.standard_normal((64 * comm.size, 5)), numpy.arange(5.0)
    values = points @ truth

    def given(whole):
        return jax.make_array_from_callback(whole.shape, NamedSharding(mesh, P("all")), lambda index: whole[index])

    @jax.jit
    def step(weights, x, y):
        def of_rank(weights, x, y):
            gradient = jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(weights)
            return weights - 0.1 * jax.lax.pmean(gradient, "all")

        return jax.shard_map(of_rank, mesh=mesh, in_specs=(P(), P("all"), P("all")), out_specs=P(), check_vma=False)(weights, x, y)

    weights, x, y = jnp.zeros(5), given(points), given(values)
    for _ in range(300):
        weights = step(weights, x, y)
    found = numpy.asarray(weights.addressable_shards[0].data)
    numpy.testing.assert_allclose(found, truth, atol=1e-3)
    if comm.rank == 0:
        print("the weights are", found.round(3))
