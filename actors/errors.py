"""Who erred: the caller (`RequestError`), the peer (`RemoteProtocolError`), the world
(`UnavailableError`). Our own mistakes are assertions and `CoreFault`.

Domain errors know no protocol; each door has one table that translates them. They travel as
reply values and are raised only at the edges.
"""

from typing import Any


class EtcdqError(Exception):
    """Base of all errors of this project; raise a leaf."""

    def __init__(self, text: str) -> None:
        if type(self) in _ABSTRACT:
            raise TypeError(f"{type(self).__name__} is abstract: raise a leaf of it")
        super().__init__(text)
        self.text = text

    def __eq__(self, other: object) -> bool:
        """Errors are values in replies: equal when of one kind and one text."""
        return type(self) is type(other) and self.args == getattr(other, "args", None)

    def __hash__(self) -> int:
        return hash((type(self), self.args))


class RequestError(EtcdqError):
    """The caller asked for something that cannot be: change the request."""


class RemoteProtocolError(EtcdqError):
    """The peer broke its protocol: the connection or the stream ends."""


class UnavailableError(EtcdqError):
    """The world is in the way: the same request may work later."""


class InvalidArgumentError(RequestError):
    """A value of the request is wrong; the text says which and what would be right."""


class InvalidKeyError(RequestError):
    """A key under a queue prefix has a form that means nothing; the text names the right form."""


class RequestTooLargeError(RequestError):
    """A body is over `--max-request-bytes`."""


class NoSuchQueueError(RequestError):
    """A queue that does not exist was to be shown; the first put or watch creates it."""


class NoSuchJobError(RequestError):
    """No job of that id is there, in a state and in hands that the request allows."""


class OverLimitError(UnavailableError):
    """A put over `--max-jobs-size` or `--max-jobs-per-queue`: works when there is room."""


class DrainingError(UnavailableError):
    """The node takes no new work: it is about to stop."""


class CoreFault(AssertionError):
    """A core failed on a message: our bug. The node goes down rather than serve wrong answers."""

    def __init__(self, key: Any, message: Any) -> None:
        super().__init__(f"the core of {key!r} failed on {message!r}")
        self.key = key
        self.message = message


_ABSTRACT = frozenset({EtcdqError, RequestError, RemoteProtocolError, UnavailableError})
