"""One lean beanstalk client connection on a raw socket.

What is sent is bytes before it is sent. Answers are not parsed but counted: every line end of an
answer, and those only, since the bench's bodies have none.
"""

import socket
import struct

from bench.calls import VALUE, VALUE_BYTES

_RECEIVE_BYTES = 1 << 18
_SOCKET_TIMEOUT_S = 20
TTR_S = 120
"""Longer than any load, so that no reservation ends by itself."""

RESERVE = b"reserve\r\n"
RESERVE_NOW = b"reserve-with-timeout 0\r\n"
DELETED = b"DELETED\r\n"
INSERTED = b"INSERTED "

_RESERVED = b"RESERVED "
_BODY = b" %d\r\n%b\r\n" % (VALUE_BYTES, VALUE)
"""What follows the id of every job that is reserved."""


class AnswerError(RuntimeError):
    """The server did not answer, or not what it had to."""


def put(tags: bytes = b"") -> bytes:
    """A `put` of the bench's body; each tag begins with a space."""
    return b"put 1024 0 %d %d%b\r\n%b\r\n" % (TTR_S, VALUE_BYTES, tags, VALUE)


def deletes(answer: bytes, jobs: int) -> bytes:
    """The deletes of so many jobs, out of the answer to their reserves.

    Raises:
        AnswerError: it was another one.
    """
    commands = answer.replace(_BODY, b"\r\n").replace(_RESERVED, b"delete ")
    if commands.count(b"delete ") != jobs or commands.count(b"\n") != jobs:
        raise AnswerError(f"{jobs} reserves were answered {answer[:200]!r}")
    return commands


def delete_batch(answer: bytes, jobs: int) -> bytes:
    """The `delete-batch` of so many jobs, out of the answer to their `reserve-batch`.

    Raises:
        AnswerError: it was another one.
    """
    head, _, reserved = answer.partition(b"\r\n")
    ids = reserved.replace(_BODY, b"").replace(_RESERVED, b" ")
    if head != b"RESERVED_BATCH %d" % jobs or ids.count(b" ") != jobs:
        raise AnswerError(f"a reserve-batch of {jobs} was answered {answer[:200]!r}")
    return b"delete-batch%b\r\n" % ids


def job_id(answer: bytes) -> bytes:
    """The id of the job that one reserve was answered with.

    Raises:
        AnswerError: it got none.
    """
    if not (answer.startswith(_RESERVED) and answer.endswith(_BODY)):
        raise AnswerError(f"a reserve was answered {answer!r}")
    return answer[len(_RESERVED) : -len(_BODY)]


class Tube:
    """A connection to 127.0.0.1:port that uses and watches one tube, and no other."""

    def __init__(self, port: int, name: bytes) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=_SOCKET_TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A blocking socket with kernel timeouts: Python's own poll before every call is spared.
        self._socket.setblocking(True)
        timeout = struct.pack("ll", _SOCKET_TIMEOUT_S, 0)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeout)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeout)
        self.send = self._socket.sendall
        self._recv = self._socket.recv
        try:
            answer = self.ask(b"use %b\r\nwatch %b\r\nignore default\r\n" % (name, name), 3)
            if answer != b"USING %b\r\nWATCHING 2\r\nWATCHING 1\r\n" % name:
                raise AnswerError(f"a fresh connection is told {answer!r}")
        except (AnswerError, OSError):
            self.close()
            raise

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def fileno(self) -> int:
        """The socket's descriptor, for epoll."""
        return self._socket.fileno()

    def ask(self, commands: bytes, lines: int) -> bytes:
        """Send commands, and return their answers once these have so many lines.

        Raises:
            AnswerError: the server has closed, or said nothing for 20 s.
        """
        self.send(commands)
        return self.receive(lines)

    def receive(self, lines: int) -> bytes:
        """Return what the server says once it has so many lines; raises as `ask`."""
        answer = self._some()
        missing = lines - answer.count(b"\n")
        if missing <= 0:
            return answer
        pieces = [answer]
        while missing > 0:
            pieces.append(self._some())
            missing -= pieces[-1].count(b"\n")
        return b"".join(pieces)

    def _some(self) -> bytes:
        try:
            data = self._recv(_RECEIVE_BYTES)
        except BlockingIOError as error:
            raise AnswerError(f"no answer within {_SOCKET_TIMEOUT_S} s") from error
        if not data:
            raise AnswerError("the server closed the connection")
        return data
