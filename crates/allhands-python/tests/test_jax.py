"""JAX's collectives by this library: every bit of random arrays, beside what numpy says.

ALLHANDS_TEST_TURNS is how many shapes there are of each, with 50 arrays: 200 make 10,000 calls of every collective.
"""

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
REPEATS = 50
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

def jitted(function, **of):
    return jax.jit(shard(function, out_specs=P("all"), **of))

rng = numpy.random.default_rng(7)
kinds = [jnp.float32, jnp.float64, jnp.int8, jnp.int16, jnp.int32, jnp.int64, jnp.uint8, jnp.uint32, jnp.complex64, jnp.complex128]
for turn in range(int(sys.argv[2])):
    kind = numpy.dtype(kinds[turn % len(kinds)])
    n = int(rng.integers(1, 40)) * p
    block = n // p
    mine = slice(rank * block, (rank + 1) * block)
    # Sums of so small numbers are exact in all of them.
    calls = [
        (jitted(lambda x: jax.lax.psum(x, "all")), lambda whole: whole.sum(0)),
        (jitted(lambda x: jax.lax.all_gather(x[0], "all")[None]), lambda whole: whole),
        (jitted(lambda x: jax.lax.psum_scatter(x[0], "all", tiled=True)[None]), lambda whole: whole.sum(0)[mine]),
        (jitted(lambda x: jax.lax.all_to_all(x[0].reshape(p, -1), "all", 0, 0)[None]), lambda whole: whole.reshape(p, p, -1)[:, rank]),
        (jitted(lambda x: jax.lax.ppermute(x, "all", [(i, (i + 1) % p) for i in range(p)])), lambda whole: whole[(rank - 1) % p]),
    ]
    if kind.kind != "c":
        calls.append((jitted(lambda x: jax.lax.pmax(x, "all")), lambda whole: whole.max(0)))
    if kind in (jnp.float32, jnp.float64):
        calls.append((jitted(lambda x: jax.lax.pmean(x, "all") * p), lambda whole: whole.sum(0)))
    for _ in range(REPEATS):
        whole = rng.integers(0, 10, (p, n)).astype(kind)
        x = given(whole)
        for call, wanted in calls:
            numpy.testing.assert_array_equal(own(call(x))[0], wanted(whole).astype(kind))
print("every bit right")
"""


def _port():
    import socket

    with socket.socket() as one:
        one.bind(("localhost", 0))
        return one.getsockname()[1]


@pytest.mark.parametrize("size", [2, 4, 8])
def test_every_bit_is_right(tmp_path, size):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    turns = os.environ.get("ALLHANDS_TEST_TURNS", "12")
    command = [sys.executable, "-m", "allhands.run", "-n", str(size), str(program), str(_port()), turns]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=1800)
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
