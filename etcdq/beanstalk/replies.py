"""Bytes of a beanstalk server to replies, without I/O.

A reply is a line of words; four of them say that a body follows, one that so many RESERVED
replies do. That is all this file knows: which reply fits which command is the client's business.
Source: beanstalkd doc/protocol.txt; tuber docs/protocol.md for the batch.
"""

import re
from typing import Final

from msgspec import Struct

from etcdq.beanstalk.records import Job
from etcdq.errors import RemoteProtocolError

LINE_BYTES_MAX: Final = 1024
"""Of a reply's line: the longest one names a tube, of 200 bytes."""
BODY_BYTES_MAX: Final = 2**30
"""Of a body or a document: no server takes a larger job."""
BATCH_MAX: Final = 1000
"""Jobs in one batch, either way."""

_CRLF: Final = b"\r\n"
_WITH_JOB: Final = frozenset({"RESERVED", "FOUND"})

# Replies in the form that nearly all have; the numbers are below every bound. What is of another
# form, or not complete, is read word by word.
_JOB: Final = re.compile(rb"RESERVED (\d{1,19}) (\d{1,9})\r\n").match


class Reply(Struct, frozen=True, gc=False):
    """One reply: its words, the body of an OK, the jobs of a RESERVED, FOUND or RESERVED_BATCH."""

    word: str
    arguments: tuple[str, ...] = ()
    body: bytes = b""
    jobs: tuple[Job, ...] = ()

    def number(self, place: int = 0) -> int:
        """Return an argument that has to be a number.

        Raises:
            RemoteProtocolError: it is none, or is not there.
        """
        if place >= len(self.arguments):
            raise RemoteProtocolError(f"{self.word} has too few words")
        return _number(self.arguments[place], 2**64 - 1, self.word)


_PLAIN: Final = {
    word.encode(): Reply(word)
    for word in ("DELETED", "TOUCHED", "RELEASED", "BURIED", "KICKED", "NOT_FOUND", "TIMED_OUT")
}
"""Replies of one word that come by thousands."""
_USUAL: Final = re.compile(
    rb"(?:(%b)|OK (\d{1,9})|RESERVED (\d{1,19}) (\d{1,9}))\r\n" % b"|".join(_PLAIN)
).match


class ReplyReader:
    """Reads the replies of one connection, in any segmentation.

    `feed` takes bytes, `read_into` gives the replies, `next_reply` one of them. After an error
    nothing that follows means anything: close the connection.
    """

    __slots__ = ("_at", "_batch_left", "_buffer", "_head", "_jobs", "_size")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._at = 0  # up to here it is read
        self._head: list[str] = []  # the words of a line whose body is not complete yet
        self._size = 0
        self._batch_left = 0
        self._jobs: list[Job] = []

    def feed(self, data: bytes | bytearray) -> None:
        """Take bytes as they came."""
        if self._at:
            del self._buffer[: self._at]
            self._at = 0
        self._buffer += data

    def read_into(self, replies: list[Reply]) -> None:
        """Append the replies that are complete.

        Raises:
            RemoteProtocolError: what follows them is no reply.
        """
        while True:
            self._read_usual(replies)
            reply = self.next_reply()
            if reply is None:
                return
            replies.append(reply)

    def _read_usual(self, replies: list[Reply]) -> None:
        """Append replies as long as they are of a usual form, and complete."""
        if self._head or self._batch_left:
            return
        buffer, at = self._buffer, self._at
        while (found := _USUAL(buffer, at)) is not None:
            word, size, number, job_size = found.groups()
            end = found.end()
            if word is not None:
                replies.append(_PLAIN[word])
                at = end
                continue
            start, end = end, end + int(size or job_size)
            if not buffer.startswith(_CRLF, end):
                break
            body = bytes(buffer[start:end])
            if size is not None:
                replies.append(Reply("OK", (size.decode(),), body))
            else:
                words = number.decode(), job_size.decode()
                replies.append(Reply("RESERVED", words, jobs=(Job(int(number), body),)))
            at = end + len(_CRLF)
        self._at = at

    def next_reply(self) -> Reply | None:
        """Return the next reply, or None until more bytes are fed.

        Raises:
            RemoteProtocolError: these bytes are no reply.
        """
        while self._head or self._batch_left or self._read_line():
            if self._batch_left and not self._head:
                self._take_jobs()
                if not self._batch_left:
                    return self._end_batch()
                if not self._read_line():
                    return None
            word, *arguments = self._head
            if word in _WITH_JOB or word == "OK":
                body = self._take_body()
                if body is None:
                    return None
                reply = self._with_body(word, arguments, body)
            elif word == "RESERVED_BATCH":
                reply = self._begin_batch(arguments)
            else:
                reply = Reply(word, tuple(arguments))
            self._head = []
            if reply is not None:
                return reply
        return None

    def _take_jobs(self) -> None:
        """Take the jobs of a batch that are complete."""
        buffer, at, left, jobs = self._buffer, self._at, self._batch_left, self._jobs
        while left and (found := _JOB(buffer, at)) is not None:
            number, size = found.groups()
            start = found.end()
            end = start + int(size)
            if not buffer.startswith(_CRLF, end):
                break
            jobs.append(Job(int(number), bytes(buffer[start:end])))
            at = end + len(_CRLF)
            left -= 1
        self._at, self._batch_left = at, left

    def _read_line(self) -> bool:
        """Take a line, if there is a whole one, as the head of what comes."""
        start = self._at
        end = self._buffer.find(_CRLF, start, start + LINE_BYTES_MAX + len(_CRLF))
        if end < 0:
            if len(self._buffer) - start > LINE_BYTES_MAX + 1:
                raise RemoteProtocolError(f"a line is longer than {LINE_BYTES_MAX} bytes")
            return False
        try:
            words = self._buffer[start:end].decode().split(" ")
        except UnicodeDecodeError:
            raise RemoteProtocolError("a line is not text") from None
        self._at = end + len(_CRLF)
        word = words[0]
        if not word.replace("_", "").isalpha() or not word.isupper():
            raise RemoteProtocolError(f"{' '.join(words)[:80]!r} is no reply of a beanstalk server")
        if self._batch_left and word != "RESERVED":
            raise RemoteProtocolError(f"{word} inside of a batch")
        if word in _WITH_JOB or word == "OK":
            self._size = _number(words[-1], BODY_BYTES_MAX, word)
        self._head = words
        return True

    def _take_body(self) -> bytes | None:
        buffer, start = self._buffer, self._at
        end = start + self._size
        if len(buffer) < end + len(_CRLF):
            return None
        if not buffer.startswith(_CRLF, end):
            raise RemoteProtocolError("a body is not as long as was said")
        with memoryview(buffer) as view:
            body = bytes(view[start:end])
        self._at = end + len(_CRLF)
        return body

    def _with_body(self, word: str, arguments: list[str], body: bytes) -> Reply | None:
        if word == "OK":
            return Reply(word, tuple(arguments), body)
        if len(arguments) != 2:
            raise RemoteProtocolError(f"{word} with {len(arguments)} words")
        job = Job(_number(arguments[0], 2**64 - 1, word), body)
        if not self._batch_left:
            return Reply(word, tuple(arguments), jobs=(job,))
        self._jobs.append(job)
        self._batch_left -= 1
        return None if self._batch_left else self._end_batch()

    def _begin_batch(self, arguments: list[str]) -> Reply | None:
        text = arguments[0] if len(arguments) == 1 else ""
        self._batch_left = _number(text, BATCH_MAX, "RESERVED_BATCH")
        return None if self._batch_left else self._end_batch()

    def _end_batch(self) -> Reply:
        jobs, self._jobs = tuple(self._jobs), []
        return Reply("RESERVED_BATCH", (str(len(jobs)),), jobs=jobs)


def _number(text: str, at_most: int, word: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 20 or int(text) > at_most:
        raise RemoteProtocolError(f"{word} with {text[:40]!r} for a number")
    return int(text)
