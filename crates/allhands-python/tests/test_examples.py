"""The examples, each of which checks its answer."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"
TORCHRUN = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]
RANKS = ["-m", "allhands.run", "-n", "2"]
ALL = {
    "power_iteration.py": ([], None, "as numpy says"),
    "k_means.py": ([], None, "the same as of one process"),
    "ddp.py": (TORCHRUN, "torch", "2 ranks have trained what one process does"),
    "fsdp.py": (TORCHRUN, "torch", "each with its part of the weights"),
    "tensor_parallel.py": (TORCHRUN, "torch", "each with its part of the layers"),
    "jax_data_parallel.py": (RANKS, "jax", "the weights are [0. 1. 2. 3. 4.]"),
}


@pytest.mark.parametrize("name", ALL)
def test_example(name):
    launcher, needs, says = ALL[name]
    if needs and importlib.util.find_spec(needs) is None:
        pytest.skip(f"{needs} is not installed")
    command = [sys.executable, *launcher, name]
    ran = subprocess.run(command, cwd=EXAMPLES, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert says in ran.stdout


def test_every_example_is_tried():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(ALL)
