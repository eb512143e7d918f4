"""What the client library raises, by who erred: the caller (`RequestError`), the server
(`RemoteProtocolError`), the world (`UnavailableError`).

Nothing foreign comes through: gRPC, HTTP/2 and OS errors are the `__cause__` of one of these.
`EtcdqError`, `RequestError` and `UnavailableError` are there to be caught; what is raised is
always a leaf.
"""


class EtcdqError(Exception):
    """Base of every error of this library."""

    def __init__(self, text: str) -> None:
        if type(self) in _ABSTRACT:
            raise TypeError(f"{type(self).__name__} is abstract: raise a leaf of it")
        super().__init__(text)
        self.text = text


class RequestError(EtcdqError):
    """The request cannot succeed as it is: change it, or what it depends on."""


class UnavailableError(EtcdqError):
    """The world is in the way: the same request may succeed later."""


class RemoteProtocolError(EtcdqError):
    """The server answered with something that is no answer, or failed inside: report it."""


class InvalidArgumentError(RequestError, ValueError):
    """A value of the request is wrong; the text says which. Found here or by the server."""


class NotFoundError(RequestError, LookupError):
    """What the request names does not exist, for instance a queue nobody has used."""


class UnsupportedError(RequestError, NotImplementedError):
    """The server does not know this call, for instance a queue call made to a plain etcd."""


class OutOfRangeError(RequestError):
    """A revision that is compacted or that is yet to come: read at a newer or an older one."""


class ConflictError(RequestError):
    """The state of the server contradicts the request: read, decide and ask again."""


class PermissionDeniedError(RequestError, PermissionError):
    """The server wants other credentials for this."""


class WatchCanceledError(RequestError):
    """The server ended a watch and said why: watch again only if the reason is gone."""


class ConsumerReplacedError(WatchCanceledError):
    """A newer consumer registered under this UUID: end, or consume under a UUID of your own."""


class ClosedError(RequestError):
    """The client, the watch or the consumer was left already."""


class NotConnectedError(UnavailableError):
    """No endpoint took the connection: nothing was sent, nothing happened."""


class ConnectionLostError(UnavailableError):
    """The connection broke while the answer was due: the request may have been carried out."""


class ServerUnavailableError(UnavailableError):
    """The server refuses work for now, for instance because it is about to stop."""


class OverLimitError(UnavailableError):
    """A limit of the server is reached, for instance a full queue: try again when there is room."""


class DeadlineExceededError(UnavailableError, TimeoutError):
    """No answer came in time: the request may have been, or may still be, carried out."""


_ABSTRACT = frozenset({EtcdqError, RequestError, UnavailableError})
