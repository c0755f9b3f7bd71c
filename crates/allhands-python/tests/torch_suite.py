"""torch's own distributed tests, as its wheel has them, with this backend and with Gloo: which pass, fail and are skipped, and why.

    python torch_suite.py [--only PATTERN] [--backend NAME] [--json FILE]

Each test has three processes, which are forks of one that has imported torch. The tests ask which backend they are for: they hear Gloo's name with
both, and where they make a group of Gloo, it is one of the backend that is tried. Exit status 1, if a test that passes with Gloo fails with the other one
and is not in KNOWN.
"""

import argparse
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

BACKENDS = ["gloo", "allhands"]
RANKS = 3

# Tests that Gloo passes and that cannot pass with another backend, each with its reason.
KNOWN = {"test_get_backend": "it asks whether the name is Gloo's"}


def cases(backend):
    """The tests, for a backend."""
    os.environ.update(BACKEND="gloo", WORLD_SIZE=str(RANKS), OMP_NUM_THREADS="1")
    os.environ["INIT_METHOD"] = f"file://{tempfile.mkdtemp()}/shared_init_file"
    os.environ["DISTRIBUTED_TESTS_DEFAULT_TIMEOUT"] = "40"
    import torch
    import torch.distributed as dist
    from torch.testing._internal.distributed import distributed_test

    torch.set_num_threads(1)

    def of_backend(make):
        def made(*arguments, **named):
            if named.get("backend") == "gloo":
                named["backend"] = backend
            return make(*arguments, **named)

        return made

    dist.init_process_group, dist.new_group = of_backend(dist.init_process_group), of_backend(dist.new_group)

    class Suite(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
        def setUp(self):
            super().setUp()
            self._start_processes(multiprocessing.get_context("fork").Process)

    return Suite


class Outcomes(unittest.TestResult):
    """What becomes of each test: "passed", or "failed" or "skipped" with the reason."""

    def __init__(self):
        super().__init__()
        self.all = {}
        self.began = 0.0

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def _note(self, test, outcome, why=""):
        name = test.id().split(".")[-1]
        self.all[name] = {"outcome": outcome, "why": why}
        print(f"{outcome:8} {time.monotonic() - self.began:6.1f} s  {name}  {why[-200:]}", flush=True)

    def addSuccess(self, test):
        self._note(test, "passed")

    def addSkip(self, test, reason):
        self._note(test, "skipped", reason)

    def addFailure(self, test, error):
        self._note(test, "failed", reason_of(str(error[1])))

    addError = addFailure


def reason_of(text):
    """The line of what a test's processes have raised that says most: the last exception."""
    lines = [line.strip() for line in text.splitlines() if re.match(r"\w[\w.]*(Error|Exception|Lost|Mismatch|Timeout)\b", line.strip())]
    return (lines or text.strip().splitlines() or ["no reason was given"])[-1]


def run(backend, pattern):
    suite = cases(backend)
    names = unittest.TestLoader().getTestCaseNames(suite)
    outcomes = Outcomes()
    for name in names:
        if re.search(pattern, name):
            suite(name).run(outcomes)
    return outcomes.all


def compare(found):
    """Prints how many there are of each kind, and what is not as with Gloo; the names of those that are wrong."""
    for backend, outcomes in found.items():
        kinds = [outcome["outcome"] for outcome in outcomes.values()]
        print(f"{backend}: " + ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("passed", "failed", "skipped")))
    gloo, ours = (found[backend] for backend in BACKENDS)
    skips = {}
    for outcome in ours.values():
        if outcome["outcome"] == "skipped":
            skips[outcome["why"]] = skips.get(outcome["why"], 0) + 1
    for why, times in sorted(skips.items(), key=lambda item: -item[1]):
        print(f"skipped {times:3}: {why}")
    wrong = []
    for name, outcome in ours.items():
        with_gloo = gloo[name]["outcome"]
        if outcome["outcome"] != with_gloo:
            reason = KNOWN.get(name)
            print(f"{name}: {with_gloo} with gloo, {outcome['outcome']}: {outcome['why'][-300:]}{f' (known: {reason})' if reason else ''}")
            if with_gloo == "passed" and not reason:
                wrong.append(name)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="PATTERN", help="the tests whose names have this")
    parser.add_argument("--backend", choices=BACKENDS, help="this one alone, without a comparison")
    parser.add_argument("--json", metavar="FILE", help="where all outcomes are written to")
    given = parser.parse_args()
    if given.backend:
        found = run(given.backend, given.only)
        if given.json:
            with open(given.json, "w") as file:
                json.dump(found, file, indent=1)
        return 0
    found = {}
    for backend in BACKENDS:
        with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
            # Of its own process, as the tests' module is made for one backend. What torch writes to stderr, `--backend` alone shows.
            command = [sys.executable, __file__, "--backend", backend, "--only", given.only, "--json", file.name]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            found[backend] = json.load(file)
    if given.json:
        with open(given.json, "w") as file:
            json.dump(found, file, indent=1)
    wrong = compare(found)
    if wrong:
        print(f"{len(wrong)} pass with Gloo alone: {', '.join(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
