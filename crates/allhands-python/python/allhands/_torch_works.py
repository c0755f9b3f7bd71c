"""Works of the backend `allhands` of torch.distributed: what its calls give, to be waited for."""

import queue
import threading
from datetime import timedelta

import torch
import torch.distributed as dist

import allhands


class Work(dist.Work):
    """Calls that are under way, and what is done when all of them have ended."""

    def __init__(self, requests=(), then=None, result=()):
        super().__init__()
        self._requests, self._then, self._result = requests, then, result
        self._error = None
        self._lock = threading.Lock()

    def wait(self, timeout=timedelta(0)):
        with self._lock:
            self._end(timeout.total_seconds() if timeout else 0.0)
        return True

    def _end(self, seconds):
        """Waits for the calls, once; who comes later hears the same."""
        if self._error is not None:
            raise self._error
        requests, then = self._requests, self._then
        try:
            for request in requests:
                request.wait(seconds or None)
            self._requests, self._then = (), None
            if then is not None:
                then()
        except TimeoutError as error:
            # The wait's own is no end of the call, which the group's is.
            self._error = error if isinstance(error, allhands.Error) else None
            raise
        except Exception as error:
            self._error = error
            raise

    def is_completed(self):
        return all(request.test() for request in self._requests)

    def is_success(self):
        return self.is_completed() and self._error is None

    def exception(self):
        return self._error

    def result(self):
        return list(self._result)

    def get_future(self):
        future = torch.futures.Future()
        if self._requests:
            _futures.put((self, future))
            _start_futures()
        else:
            _settle(self, future)
        return future


class _Ended(dist.Work):
    """A call that had ended when it returned: one for all of them, as making one takes longer than a short call."""

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True

    def is_success(self):
        return True

    def exception(self):
        return None

    def result(self):
        return []

    def get_future(self):
        future = torch.futures.Future()
        future.set_result([])
        return future


ENDED = _Ended()


# Works whose futures are to be completed, in the order in which the calls were started.
_futures = queue.SimpleQueue()
_futures_thread = None


def _start_futures():
    """Starts the thread that completes futures, unless it is there; it waits without the interpreter's lock."""
    global _futures_thread
    if _futures_thread is None or not _futures_thread.is_alive():
        _futures_thread = threading.Thread(target=_complete_futures, name="allhands futures", daemon=True)
        _futures_thread.start()


def _complete_futures():
    while True:
        _settle(*_futures.get())


def _settle(work, future):
    try:
        work.wait()
        future.set_result(list(work._result))
    except Exception as error:
        future.set_exception(error)


class Message(Work):
    """A message between two ranks that is under way, and the tensor that it is for."""

    def __init__(self, request, timeout_s, place=None, result=()):
        super().__init__((request,), None, result)
        self._request, self._timeout_s, self._place = request, timeout_s, place
        self._came_from = None

    def wait(self, timeout=timedelta(0)):
        with self._lock:
            if self._error is not None:
                raise self._error
            if self._request is None:
                return True
            try:
                status = self._request.wait(timeout.total_seconds() if timeout else self._timeout_s)
            except Exception as error:
                self._error = error
                raise
            self._request = None
            if self._place is not None:
                self._place.give_back()
                self._came_from = status[0]
        return True

    def is_completed(self):
        request = self._request
        return request is None or request.test()

    def source_rank(self):
        return self._came_from

    _source_rank = source_rank

    def get_future(self):
        future = torch.futures.Future()
        # Of its own: one that never comes would keep those of calls from being completed.
        threading.Thread(target=_settle, args=(self, future), name="allhands message", daemon=True).start()
        return future
