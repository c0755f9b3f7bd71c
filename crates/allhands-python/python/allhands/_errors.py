"""What goes wrong in calls: who is to blame, and whether the communicator can still be used."""


class Error(RuntimeError):
    """Why a call failed.

    `rank` is the rank that is to blame, or None where that is nobody alone; after an error with a false `communicator_usable` every further
    call on the communicator raises the same.
    """

    def __init__(self, says, rank=None, communicator_usable=False):
        super().__init__(says)
        self.rank = rank
        self.communicator_usable = communicator_usable

    def __reduce__(self):
        return type(self), (str(self), self.rank, self.communicator_usable)


class ArgumentError(Error, ValueError):
    """Something was wrong with a call on this rank alone, which can make it again, rightly."""


class Mismatch(Error):
    """Ranks called differently: another collective, root, length, type or operator."""


class RankLost(Error):
    """A rank died, left, or failed."""


class Timeout(Error, TimeoutError):
    """A wait lasted too long; `rank` is the first that has not come."""


class Interrupted(Error, KeyboardInterrupt):
    """Ctrl-C ended a wait; `rank` is the first that has not come."""


class LaunchError(Error):
    """The ranks have not come together."""
