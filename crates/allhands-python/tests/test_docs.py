"""The programs of docs/python.md: each prints what the page says."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

PAGE = pathlib.Path(__file__).parents[3] / "docs/python.md"
# A program, and then how it is run and what it prints.
PROGRAM = re.compile(r"```python\n([^`]+)```\s+```text\n\$ ([^\n]+)\n([^`]+)```")
PROGRAMS = {command.split()[-1]: (text, command, printed) for text, command, printed in PROGRAM.findall(PAGE.read_text())}
NEEDS = {"sums.py": "torch", "psum.py": "jax"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_prints_what_the_page_says(tmp_path, name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    text, command, printed = PROGRAMS[name]
    (tmp_path / name).write_text(text)
    # The programs of the environment that runs the tests.
    environment = {**os.environ, "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
    ran = subprocess.run(command.split(), cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr[-4000:]
    # Ranks print in any order.
    assert sorted(ran.stdout.splitlines()) == sorted(printed.splitlines())


def test_the_page_has_a_program_for_each():
    assert list(PROGRAMS) == ["power.py", "sums.py", "psum.py"]
