"""`python -m allhands.run -n 4 program.py …`: starts ranks of a Python program on this host.

All ranks are ended when one of them fails; the exit status is the first one's that did.
"""

import argparse
import os
import signal
import subprocess
import sys
import time

from . import _core


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m allhands.run", description="Starts ranks of a Python program on this host.")
    parser.add_argument("-n", type=int, default=os.cpu_count() or 1, help="the number of ranks; without, one for each processor")
    parser.add_argument("-m", action="store_true", help="the program is a module, as with python -m")
    parser.add_argument("program", help="the program's file, or module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program gets")
    given = parser.parse_args(arguments)
    if given.n < 1:
        parser.error(f"-n {given.n}: right would be at least one rank")
    command = [sys.executable, *(["-m"] if given.m else []), given.program, *given.arguments]
    return _wait(_start(command, given.n))


def _start(command, n):
    descriptor = _core.segment(n)
    ranks = []
    for rank in range(n):
        environment = dict(os.environ, ALLHANDS_RANK=str(rank), ALLHANDS_RANKS=str(n), ALLHANDS_SEGMENT=str(descriptor))
        ranks.append(subprocess.Popen(command, env=environment, pass_fds=[descriptor]))
    return ranks


# For so long the others may say what they find, before they are ended.
GRACE_S = 3.0


def _wait(ranks):
    """The status of the first rank that fails; 0, if none does."""
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda *_: _end(ranks))
    # The terminal tells the ranks of Ctrl-C, too, which say for whom they wait.
    signal.signal(signal.SIGINT, lambda *_: None)
    failed, since = 0, None
    while any(rank.poll() is None for rank in ranks):
        codes = [(number, rank.returncode) for number, rank in enumerate(ranks) if rank.returncode]
        if codes and not failed:
            number, code = codes[0]
            failed, since = (code if code > 0 else 128 - code), time.monotonic()
            print(f"allhands.run: rank {number} ended with status {failed}", file=sys.stderr)
        if since is not None and time.monotonic() - since > GRACE_S:
            _end(ranks)
        time.sleep(0.01)
    codes = [rank.returncode for rank in ranks if rank.returncode]
    return failed or (0 if not codes else codes[0] if codes[0] > 0 else 128 - codes[0])


def _end(ranks):
    for rank in ranks:
        if rank.returncode is None:
            rank.terminate()


if __name__ == "__main__":
    sys.exit(main())
