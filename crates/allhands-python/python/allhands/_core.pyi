"""Types of the extension module; its methods' documentation is in the module itself."""

from collections.abc import Callable, Generator, Sequence
from typing import Any, Literal, Protocol, TypeVar

Operator = (
    Literal[
        "sum",
        "product",
        "min",
        "max",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "logical_and",
        "logical_or",
        "logical_xor",
    ]
    | Callable[[Any, Any], Any]
)
Array = TypeVar("Array")

class Store(Protocol):
    """What ranks meet by: a value that one has set, any other may get, and waits for it."""

    def set(self, key: str, value: str) -> Any: ...
    def get(self, key: str) -> str | bytes: ...

def in_order(tensor: Any, class_: type, /) -> tuple[int, tuple[int, int]] | None: ...

class Request:
    """A call that was started with nonblocking=True."""

    def test(self) -> bool: ...
    def wait(self, timeout: float | None = None) -> Any: ...
    def __await__(self) -> Generator[Any, None, Any]: ...

class MessageRequest:
    """A message that was started with isend or irecv."""

    def test(self) -> bool: ...
    def wait(self, timeout: float | None = None) -> tuple[int, int, int] | None: ...
    def __await__(self) -> Generator[Any, None, tuple[int, int, int] | None]: ...

class Communicator:
    """The ranks that call collectives together, as one of them sees them."""

    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    def set_timeout(self, seconds: float | None) -> None: ...
    def barrier(self, *, algorithm: str | None = None, nonblocking: bool = False) -> Any: ...
    def broadcast(self, array: Array, root: int = 0, *, algorithm: str | None = None, nonblocking: bool = False) -> Any: ...
    def scatter(
        self,
        input: Any = None,
        output: Any = None,
        root: int = 0,
        counts: Sequence[int] | None = None,
        *,
        algorithm: str | None = None,
        nonblocking: bool = False,
    ) -> Any: ...
    def gather(
        self,
        input: Any,
        output: Any = None,
        root: int = 0,
        counts: Sequence[int] | Literal["any"] | None = None,
        *,
        algorithm: str | None = None,
        nonblocking: bool = False,
    ) -> Any: ...
    def allgather(
        self,
        input: Any = None,
        output: Any = None,
        counts: Sequence[int] | Literal["any"] | None = None,
        *,
        algorithm: str | None = None,
        nonblocking: bool = False,
    ) -> Any: ...
    def alltoall(
        self,
        input: Any = None,
        output: Any = None,
        send_counts: Sequence[int] | None = None,
        receive_counts: Sequence[int] | None = None,
        *,
        algorithm: str | None = None,
        nonblocking: bool = False,
    ) -> Any: ...
    def reduce(
        self,
        input: Any,
        output: Any = None,
        op: Operator = "sum",
        root: int = 0,
        *,
        algorithm: str | None = None,
        nonblocking: bool = False,
    ) -> Any: ...
    def allreduce(
        self, input: Any, output: Any = None, op: Operator = "sum", *, algorithm: str | None = None, nonblocking: bool = False
    ) -> Any: ...
    def scan(
        self, input: Any, output: Any = None, op: Operator = "sum", *, algorithm: str | None = None, nonblocking: bool = False
    ) -> Any: ...
    def exscan(
        self, input: Any, output: Any = None, op: Operator = "sum", *, algorithm: str | None = None, nonblocking: bool = False
    ) -> Any: ...
    def reduce_scatter(
        self,
        input: Any,
        output: Any = None,
        op: Operator = "sum",
        counts: Sequence[int] | None = None,
        *,
        algorithm: str | None = None,
        nonblocking: bool = False,
    ) -> Any: ...
    def send(self, array: Any, to: int, tag: int = 0, *, timeout: float | None = None) -> None: ...
    def recv(
        self, array: Any, source: int | None = None, tag: int | None = None, *, timeout: float | None = None
    ) -> tuple[int, int, int]: ...
    def isend(self, array: Any, to: int, tag: int = 0) -> MessageRequest: ...
    def irecv(self, array: Any, source: int | None = None, tag: int | None = None) -> MessageRequest: ...
    def abort(self) -> None: ...
    def dup(self) -> Communicator: ...
    def split(self, colour: int | None, key: int = 0) -> Communicator | None: ...

def world() -> Communicator: ...
def set_world(comm: Communicator) -> None: ...
def meet(store: Store, rank: int, size: int, prefix: str = "allhands", *, progress_thread: bool = False) -> Communicator: ...
def segment(size: int) -> int: ...
def join(descriptor: int, rank: int, size: int) -> Communicator: ...
