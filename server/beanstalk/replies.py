"""Answers as the bytes that beanstalkd and tuber write.

Sources: beanstalkd prot.c, tuber src/protocol.rs (the lines that only tuber knows are marked).
"""

from collections.abc import Sequence

from etcdq.actors.queue.messages import JobState

# whole answers ------------------------------------------------------------------------------

DELETED = b"DELETED\r\n"
RELEASED = b"RELEASED\r\n"
BURIED = b"BURIED\r\n"
TOUCHED = b"TOUCHED\r\n"
KICKED = b"KICKED\r\n"
PAUSED = b"PAUSED\r\n"
TIMED_OUT = b"TIMED_OUT\r\n"
DEADLINE_SOON = b"DEADLINE_SOON\r\n"
NOT_FOUND = b"NOT_FOUND\r\n"
NOT_IGNORED = b"NOT_IGNORED\r\n"
DRAINING = b"DRAINING\r\n"
NOT_DRAINING = b"NOT_DRAINING\r\n"  # tuber
OUT_OF_MEMORY = b"OUT_OF_MEMORY\r\n"
INTERNAL_ERROR = b"INTERNAL_ERROR\r\n"
BAD_FORMAT = b"BAD_FORMAT\r\n"
UNKNOWN_COMMAND = b"UNKNOWN_COMMAND\r\n"
EXPECTED_CRLF = b"EXPECTED_CRLF\r\n"
JOB_TOO_BIG = b"JOB_TOO_BIG\r\n"

# answers that say something -----------------------------------------------------------------

_STATE_WORDS = {
    JobState.READY: b"READY",
    JobState.RESERVED: b"RESERVED",
    JobState.DELAYED: b"DELAYED",
    JobState.BURIED: b"BURIED",
}


def inserted(job_id: int) -> bytes:
    """A put made this job."""
    return b"INSERTED %d\r\n" % job_id


def duplicate(job_id: int, state: JobState | None, priority: int | None) -> bytes:
    """A put made no job: one with its `idp` key is there (None: was), now of that priority (None:
    of the one it had). tuber."""
    word = b"DELETED" if state is None else _STATE_WORDS[state]
    if priority is None:
        return b"INSERTED %d %b\r\n" % (job_id, word)
    return b"INSERTED %d %b %d\r\n" % (job_id, word, priority)


def reserved(job_id: int, body: bytes) -> bytes:
    """A job that is the client's from now on."""
    return b"RESERVED %d %d\r\n%b\r\n" % (job_id, len(body), body)


def reserved_batch(jobs: Sequence[tuple[int, bytes]]) -> bytes:
    """Jobs, as (id, body), that are the client's from now on. tuber."""
    head = b"RESERVED_BATCH %d\r\n" % len(jobs)
    return head + b"".join([reserved(job_id, body) for job_id, body in jobs])


def deleted_batch(deleted: int, not_found: int) -> bytes:
    """How many jobs of a batch were deleted, and how many could not be. tuber."""
    return b"DELETED_BATCH %d %d\r\n" % (deleted, not_found)


def found(job_id: int, body: bytes) -> bytes:
    """A job that was looked at."""
    return b"FOUND %d %d\r\n%b\r\n" % (job_id, len(body), body)


def using(name: bytes) -> bytes:
    """The tube that puts go to, or (tuber) how a reserve chooses from now on."""
    return b"USING %b\r\n" % name


def watching(count: int) -> bytes:
    """How many tubes are watched."""
    return b"WATCHING %d\r\n" % count


def kicked(count: int) -> bytes:
    """How many jobs were kicked."""
    return b"KICKED %d\r\n" % count


def flushed(count: int) -> bytes:
    """How many jobs were deleted. tuber."""
    return b"FLUSHED %d\r\n" % count


def ok(document: bytes) -> bytes:
    """A YAML document."""
    return b"OK %d\r\n%b\r\n" % (len(document), document)
