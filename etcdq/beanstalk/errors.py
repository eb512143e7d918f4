"""The words with which a beanstalk server refuses, each as an error of `etcdq.errors`.

NOT_FOUND is `etcdq.NotFoundError` itself. What went wrong with the connection has no word, and is
a `NotConnectedError`, `ConnectionLostError` or `ClosedError`.
"""

from typing import Final

from etcdq.beanstalk.replies import Reply
from etcdq.errors import (
    ConflictError,
    EtcdqError,
    InvalidArgumentError,
    NotFoundError,
    OverLimitError,
    RemoteProtocolError,
    ServerUnavailableError,
    UnavailableError,
    UnsupportedError,
)


class TimedOutError(UnavailableError, TimeoutError):
    """TIMED_OUT: no job came while the reserve waited. Reserve again, or do something else."""


class DeadlineSoonError(ConflictError):
    """DEADLINE_SOON: a job this connection holds expires within a second: touch or finish it."""


class NotIgnoredError(ConflictError):
    """NOT_IGNORED: a connection watches one tube at least: watch another one first."""


class BadFormatError(InvalidArgumentError):
    """BAD_FORMAT: the server does not read this command, for instance a name it does not allow."""


class JobTooBigError(InvalidArgumentError):
    """JOB_TOO_BIG: the body is over the server's limit (`max-job-size` of its statistics)."""


class UnknownCommandError(UnsupportedError):
    """UNKNOWN_COMMAND: this server does not know it, for instance a tuber command in beanstalkd."""


class DrainingError(ServerUnavailableError):
    """DRAINING: the server takes no jobs until it is undrained; it still hands them out."""


class OutOfMemoryError(OverLimitError):
    """OUT_OF_MEMORY: the job was not taken, for there is no room: put it again later."""


class OutOfStorageError(OverLimitError):
    """OUT_OF_STORAGE: the job was not taken, for the server's disk budget is used up."""


class BuriedError(OverLimitError):
    """BURIED: the server had no memory to queue the job, and buried it: kick it later."""


class InternalError(RemoteProtocolError):
    """INTERNAL_ERROR: the server found a fault in itself: report it."""


class ExpectedCrlfError(RemoteProtocolError):
    """EXPECTED_CRLF: the server lost count of the bytes of a put: report it."""


REFUSALS: Final[dict[str, tuple[type[EtcdqError], str]]] = {
    "NOT_FOUND": (NotFoundError, "there is no such thing, or not in a state that allows this"),
    "TIMED_OUT": (TimedOutError, "no job came in time"),
    "DEADLINE_SOON": (DeadlineSoonError, "a job held by this connection is about to expire"),
    "NOT_IGNORED": (NotIgnoredError, "it is the only tube that is watched"),
    "BAD_FORMAT": (BadFormatError, "the server does not take it in this form"),
    "JOB_TOO_BIG": (JobTooBigError, "the body is over the server's limit"),
    "UNKNOWN_COMMAND": (UnknownCommandError, "the server does not know this command"),
    "DRAINING": (DrainingError, "the server is draining and takes no jobs"),
    "OUT_OF_MEMORY": (OutOfMemoryError, "the server has no room for the job"),
    "OUT_OF_STORAGE": (OutOfStorageError, "the server has no storage for the job"),
    "BURIED": (BuriedError, "the server had no memory to queue the job, and buried it"),
    "INTERNAL_ERROR": (InternalError, "the server found a fault in itself"),
    "EXPECTED_CRLF": (ExpectedCrlfError, "the server lost count of the bytes of the body"),
}
"""Reply word to error and the sentence that explains it."""


def refusal(reply: Reply, command: str) -> EtcdqError | None:
    """Return the error that a reply means; None: it is no refusal.

    Args:
        reply: the answer of the server.
        command: what was asked, for the text.
    """
    found = REFUSALS.get(reply.word)
    if found is None:
        return None
    kind, sentence = found
    return kind(f"{command}: {sentence} ({' '.join((reply.word, *reply.arguments))})")
