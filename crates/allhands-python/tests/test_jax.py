"""JAX's collectives by this library: every bit of random arrays, beside what numpy says."""

import os
import subprocess
import sys
import textwrap

import allhands.jax
import pytest

pytest.importorskip("jax")

PROGRAM = """
import sys
import allhands.jax
comm = allhands.jax.use()
import jax, numpy
import jax.numpy as jnp
from functools import partial
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
jax.config.update("jax_enable_x64", True)
jax.distributed.initialize(f"localhost:{sys.argv[1]}", comm.size, comm.rank)
p, rank = comm.size, comm.rank
mesh = Mesh(numpy.array(jax.devices()), ("all",))
shard = partial(jax.shard_map, mesh=mesh, in_specs=P("all"), check_vma=False)

def given(whole):
    here = NamedSharding(mesh, P("all"))
    return jax.make_array_from_callback(whole.shape, here, lambda index: whole[index])

def own(array):
    return numpy.asarray(array.addressable_shards[0].data)

rng = numpy.random.default_rng(7)
for turn in range(int(sys.argv[2])):
    kind = [numpy.float32, numpy.float64, numpy.int32, numpy.int64, numpy.complex64][turn % 5]
    n = int(rng.integers(1, 40)) * p
    whole = rng.integers(-50, 50, (p, n)).astype(kind)
    x = given(whole)
    total = whole.sum(0)
    f = jax.jit(shard(lambda x: jax.lax.psum(x, "all"), out_specs=P("all")))
    numpy.testing.assert_array_equal(own(f(x))[0], total)
    if kind not in (numpy.complex64,):
        f = jax.jit(shard(lambda x: jax.lax.pmax(x, "all"), out_specs=P("all")))
        numpy.testing.assert_array_equal(own(f(x))[0], whole.max(0))
    f = jax.jit(shard(lambda x: jax.lax.all_gather(x[0], "all")[None], out_specs=P("all")))
    numpy.testing.assert_array_equal(own(f(x))[0], whole)
    f = jax.jit(shard(lambda x: jax.lax.psum_scatter(x[0], "all", tiled=True)[None], out_specs=P("all")))
    numpy.testing.assert_array_equal(own(f(x))[0], total[rank * (n // p) : (rank + 1) * (n // p)])
    f = jax.jit(shard(lambda x: jax.lax.all_to_all(x[0].reshape(p, -1), "all", 0, 0)[None], out_specs=P("all")))
    numpy.testing.assert_array_equal(own(f(x))[0], whole.reshape(p, p, -1)[:, rank])
    f = jax.jit(shard(lambda x: jax.lax.ppermute(x, "all", [(i, (i + 1) % p) for i in range(p)]), out_specs=P("all")))
    numpy.testing.assert_array_equal(own(f(x))[0], whole[(rank - 1) % p])
print("every bit right")
"""


def _port():
    import socket

    with socket.socket() as one:
        one.bind(("localhost", 0))
        return one.getsockname()[1]


@pytest.mark.parametrize("size", [2, 4])
def test_every_bit_is_right(tmp_path, size):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    turns = os.environ.get("ALLHANDS_TEST_TURNS", "10")
    command = [sys.executable, "-m", "allhands.run", "-n", str(size), str(program), str(_port()), turns]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert ran.stdout.count("every bit right") == size


def test_another_rank_than_jax_says_is_an_error(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import os\nos.environ['JAX_PROCESS_ID'] = '1'\nimport allhands.jax\nallhands.jax.use()\n")
    command = [sys.executable, "-m", "allhands.run", "-n", "1", str(program)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode != 0 and "JAX_PROCESS_ID is 1, and this is rank 0 of 1" in ran.stderr


def test_the_library_has_every_name():
    import ctypes

    library = ctypes.CDLL(allhands.jax.library())
    for name in ("mpiabi_version_major", "MPIABI_Allreduce", "MPIABI_Win_create", "mpiwrapper_export_fortran_constants_"):
        assert getattr(library, name)
