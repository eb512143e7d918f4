"""A real beanstalkd, connections to it, and the book of what they did."""

import select
import socket
import time

from tests.support.beanstalk_book import Book, Moment
from tests.support.beanstalk_wire import Inbox

ANSWER_S = 10.0


class Bookkeeper:
    """Gives commands, checks their answers, and books what they must have changed."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self._address = (host, int(port))
        self._sockets: dict[str, socket.socket] = {}
        self._inboxes: dict[str, Inbox] = {}
        self.book = Book()
        self.connect("observer")
        # One connection came when the server was waited for, and has gone.
        self.book.counts.connections_total += 1
        self._until(b"\ncurrent-connections: 1\n")

    def connect(self, *names: str) -> None:
        """Open connections; each has been seen by the server when this returns."""
        for name in names:
            self._sockets[name] = socket.create_connection(self._address, timeout=ANSWER_S)
            self._inboxes[name] = Inbox()
            self.book.connect(name)
            self.ask(name, b"list-tube-used", b"USING default")

    def close(self, name: str) -> None:
        """Leave without a word."""
        self._sockets.pop(name).close()
        self.book.close(name)
        self._until(b"\ncurrent-connections: %d\n" % len(self.book.connections))

    def leave(self) -> None:
        """Close what is open."""
        for connection in self._sockets.values():
            connection.close()

    def ask(self, name: str, line: bytes, expected: bytes, body: bytes | None = None) -> Moment:
        """Give a command and check its answer; return when it was carried out."""
        before_s = time.monotonic()
        self.send(name, line, body)
        assert self.answer(name) == expected + b"\r\n", line
        return before_s, time.monotonic()

    def send(self, name: str, line: bytes, body: bytes | None = None) -> None:
        """Give a command."""
        self.book.counts.given[line.split(b" ")[0].decode()] += 1
        tail = b"" if body is None else body + b"\r\n"
        self._sockets[name].sendall(line + b"\r\n" + tail)

    def answer(self, name: str) -> bytes:
        """Return the next answer, with its body."""
        inbox = self._inboxes[name]
        while (reply := inbox.take_reply()) is None:
            inbox.feed(self._sockets[name].recv(65536))
            assert not inbox.closed
        return reply

    def has_answer(self, name: str, within_s: float) -> bool:
        """Say whether an answer comes, or has begun to come, within a time."""
        return bool(select.select([self._sockets[name]], [], [], within_s)[0])

    # commands -------------------------------------------------------------------------------

    def put(self, name: str, priority: int = 2000, delay_s: int = 0, ttr_s: int = 60) -> int:
        """Put a job of one byte; return its id."""
        expected = b"INSERTED %d" % (self.book.last_id + 1)
        now = self.ask(name, b"put %d %d %d 1" % (priority, delay_s, ttr_s), expected, b"x")
        return self.book.put(name, priority, delay_s, ttr_s, now)

    def use(self, name: str, tube: bytes) -> None:
        """Use a tube."""
        self.ask(name, b"use " + tube, b"USING " + tube)
        self.book.use(name, tube)

    def watch(self, name: str, tube: bytes) -> None:
        """Watch a tube."""
        count = self.book.watch(name, tube)
        self.ask(name, b"watch " + tube, b"WATCHING %d" % count)

    def ignore(self, name: str, tube: bytes) -> None:
        """Ignore a tube."""
        count = self.book.ignore(name, tube)
        self.ask(name, b"ignore " + tube, b"WATCHING %d" % count)

    def reserve(self, name: str) -> int:
        """Reserve a job that is ready; return its id."""
        job_id = self.book.head(name)
        now = self.ask(name, b"reserve-with-timeout 0", b"RESERVED %d 1\r\nx" % job_id)
        self.book.reserve(name, job_id, now)
        return job_id

    def wait(self, name: str) -> None:
        """Begin a reserve that waits; the server has begun it when this returns."""
        self.send(name, b"reserve")
        self.book.wait(name)
        self._until(b"\ncurrent-waiting: %d\n" % self.book.totals().waiting)

    def _until(self, shown: bytes) -> None:
        end_s = time.monotonic() + ANSWER_S
        while shown not in self.document(b"stats"):
            assert time.monotonic() < end_s

    def served(self, name: str, job_id: int, since_s: float) -> None:
        """Hear that a waiting reserve was answered with a job, not before `since_s`."""
        assert self.answer(name) == b"RESERVED %d 1\r\nx\r\n" % job_id
        self.book.stop_waiting(name)
        self.book.reserve(name, job_id, (since_s, time.monotonic()))

    # documents ------------------------------------------------------------------------------

    def document(self, line: bytes, name: str = "observer") -> bytes:
        """Return a document of the server, without its `OK` and its last CRLF."""
        self.send(name, line)
        head, _, document = self.answer(name).partition(b"\r\n")
        assert head == b"OK %d" % (len(document) - 2)
        return document[:-2]
