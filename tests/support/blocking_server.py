"""A beanstalk server in threads of this process, which answers lines as it is told to."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

END_S = 10.0
HANG_UP = b""
SILENCE = None

Answer = Callable[[bytes], bytes | None]
"""From a line, or a body, to what is answered; HANG_UP closes the connection."""


class BlockingServer:
    """Listens. `lines` is what each connection said, in order of their coming."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.lines: list[list[bytes]] = []
        self.ended = threading.Condition()
        self.open_count = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def wait_until_open(self, count: int) -> None:
        """Wait until so many connections are open."""
        with self.ended:
            assert self.ended.wait_for(lambda: self.open_count == count, END_S), self.open_count

    def hang_up(self) -> None:
        """Close every connection, and wait until that is done."""
        for each in list(self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self.wait_until_open(0)

    def close(self) -> None:
        """Stop listening, and close every connection."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join(END_S)
        self._listener.close()
        self.hang_up()
        for thread in self._threads:
            thread.join(END_S)

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listener.accept()
            except OSError:
                return
            said: list[bytes] = []
            self.lines.append(said)
            self._sockets.append(accepted)
            with self.ended:
                self.open_count += 1
                self.ended.notify_all()
            thread = threading.Thread(target=self._serve, args=(accepted, said))
            self._threads.append(thread)
            thread.start()

    def _serve(self, accepted: socket.socket, said: list[bytes]) -> None:
        with accepted, accepted.makefile("rb") as reader, suppress(OSError):
            for line in reader:
                said.append(line)
                answer = self.answer(line)
                if answer == HANG_UP:
                    break
                accepted.sendall(answer or b"")
        with self.ended:
            self.open_count -= 1
            self.ended.notify_all()


@contextmanager
def run_blocking_server(answer: Answer) -> Iterator[BlockingServer]:
    """Run a server that answers each line by `answer(line)`, bodies of puts being lines too."""
    server = BlockingServer(answer)
    try:
        yield server
    finally:
        server.close()


def answer_puts(line: bytes) -> bytes | None:
    """Answer `use` and puts, whose bodies are "x"; be silent to everything else."""
    if line.startswith(b"use "):
        return b"USING" + line[3:]
    return b"INSERTED 1\r\n" if line == b"x\r\n" else SILENCE
