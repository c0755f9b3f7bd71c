"""Ranks that a program starts as processes of its own."""

import os

from . import _core


def run(function, n, *arguments, start_method="fork"):
    """Calls `function(comm, *arguments)` on `n` ranks, each a process of its own, and gives a list of what they return.

    Functions of a notebook need no file, as the processes are forked; `start_method="spawn"` starts them anew, for programs with threads, and takes
    functions that can be imported. What a rank raises is raised here, with its rank; the others are ended then.
    """
    if n < 1:
        raise ValueError(f"{n} ranks; right would be at least one")
    # Here, as most programs import this module for other things.
    import multiprocessing

    import allhands

    descriptor = _core.segment(n)
    context = multiprocessing.get_context(start_method)
    if start_method == "fork":
        handle = descriptor
    else:
        from multiprocessing.reduction import DupFd

        handle = None
    ranks = []
    for rank in range(n):
        ours, theirs = context.Pipe(duplex=False)
        given = DupFd(descriptor) if handle is None else handle
        process = context.Process(target=_rank, args=(given, rank, n, theirs, function, arguments), name=f"rank {rank}")
        process.start()
        theirs.close()
        ranks.append((process, ours))
    try:
        return _results(ranks, allhands.RankLost)
    finally:
        for process, ours in ranks:
            if process.is_alive():
                process.kill()
            process.join()
            ours.close()
        os.close(descriptor)


def _rank(descriptor, rank, size, results, function, arguments):
    import allhands

    if hasattr(descriptor, "detach"):
        descriptor = descriptor.detach()
    try:
        comm = _core.join(descriptor, rank, size)
        allhands._of_torch = False
        _core.set_world(comm)
        results.send((True, function(comm, *arguments)))
    except BaseException as error:
        import traceback

        told = "".join(traceback.format_exception(error))
        try:
            results.send((False, (error, told)))
        except Exception:
            # What cannot be pickled is told in words.
            results.send((False, (RuntimeError(repr(error)), told)))


def _results(ranks, lost):
    """What all ranks have returned; raises what the first of them that failed has."""
    from multiprocessing.connection import wait

    found = [None] * len(ranks)
    waiting = {ours: rank for rank, (_, ours) in enumerate(ranks)}
    while waiting:
        for ours in wait(list(waiting)):
            rank = waiting.pop(ours)
            try:
                is_well, value = ours.recv()
            except EOFError:
                process = ranks[rank][0]
                process.join()
                raise lost(f"rank {rank} ended with exit code {process.exitcode} before it returned", rank) from None
            if not is_well:
                error, told = value
                error.add_note(f"rank {rank} said:\n{told}")
                raise error
            found[rank] = value
    return found
