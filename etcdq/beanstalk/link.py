"""A connection that blocks: a socket of one thread, every step of it with a deadline."""

import os
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from etcdq.beanstalk.replies import Reply, ReplyReader
from etcdq.beanstalk.talks import Standing
from etcdq.endpoint import Endpoint
from etcdq.errors import (
    ClosedError,
    ConnectionLostError,
    DeadlineExceededError,
    EtcdqError,
    NotConnectedError,
    RemoteProtocolError,
)

READ_BYTES: Final = 65_536


class Link:
    """A connection to one server. Once it failed in any way, it is closed.

    Args:
        endpoint: the server.
        deadline_s: until when it has to be there, on `time.monotonic`.

    Raises:
        NotConnectedError: it is not.
    """

    def __init__(self, endpoint: Endpoint, deadline_s: float) -> None:
        self.endpoint = endpoint
        self.standing = Standing()
        self.process = os.getpid()
        self._reader = ReplyReader()
        self._in_use = threading.RLock()  # a signal handler may close what it interrupts
        self._socket = _dial(endpoint, deadline_s)
        self.is_open = True

    def ask(self, commands: Sequence[bytes], deadline_s: float) -> list[Reply]:
        """Send commands and return their replies.

        Raises:
            NotConnectedError: the connection was lost before, nothing was sent.
            ConnectionLostError: it was lost meanwhile, they may have been carried out.
            DeadlineExceededError: so they may be, or may yet be: no reply came in time.
            RemoteProtocolError: the server sends what is no reply.
            ClosedError: another thread closed it.
        """
        with self._in_use:
            try:
                self._require_silence()
                _limit(self._socket, deadline_s)
                self._socket.sendall(b"".join(commands))
                return [self._receive(deadline_s) for _ in commands]
            except BaseException as error:
                # Whatever cut it short, an interrupt too: replies would no longer fit commands.
                was_open = self.is_open
                self.close()
                if not was_open and isinstance(error, OSError | EtcdqError):
                    raise ClosedError(f"the connection to {self.endpoint} is closed") from error
                told = self._told(error)
                if told is error:
                    raise
                raise told from error

    def close(self) -> None:
        """Close it; a thread that waits for a reply on it stops waiting."""
        self.is_open = False
        if self.process == os.getpid():  # after a fork the connection is the parent's
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        with self._in_use:
            self._socket.close()

    def __del__(self) -> None:
        # Threads end without a word: their links are closed when nobody has them any more.
        if hasattr(self, "_socket"):
            self._socket.close()

    def _require_silence(self) -> None:
        """Look whether the server closed it while nobody asked for anything."""
        self._socket.setblocking(False)
        try:
            data = self._socket.recv(1)
        except BlockingIOError:
            return
        except OSError as error:
            raise NotConnectedError(self._lost(_reason(error))) from error
        reason = "the server spoke unasked" if data else "the server closed it"
        raise NotConnectedError(self._lost(reason))

    def _receive(self, deadline_s: float) -> Reply:
        while (reply := self._reader.next_reply()) is None:
            _limit(self._socket, deadline_s)
            data = self._socket.recv(READ_BYTES)
            if not data:
                raise ConnectionLostError(self._lost("the server closed it"))
            self._reader.feed(data)
        return reply

    def _lost(self, reason: str) -> str:
        return f"the connection to {self.endpoint} is lost: {reason}"

    def _told(self, error: BaseException) -> BaseException:
        """Return the error that callers are told instead of this one."""
        if isinstance(error, TimeoutError) and not isinstance(error, EtcdqError):
            return DeadlineExceededError(f"no answer from {self.endpoint} in time")
        if isinstance(error, OSError):
            return ConnectionLostError(self._lost(_reason(error)))
        if isinstance(error, RemoteProtocolError):
            return RemoteProtocolError(f"{self.endpoint}: {error.text}")
        return error


def _dial(endpoint: Endpoint, deadline_s: float) -> socket.socket:
    try:
        return _connect(endpoint, deadline_s)
    except TimeoutError as error:
        raise NotConnectedError(f"cannot connect to {endpoint}: no answer") from error
    except OSError as error:
        raise NotConnectedError(f"cannot connect to {endpoint}: {_reason(error)}") from error


def _connect(endpoint: Endpoint, deadline_s: float) -> socket.socket:
    if endpoint.path is not None:
        return _open(socket.AF_UNIX, 0, endpoint.path, deadline_s)
    found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    *others, last = [(family, number, place) for family, _, number, _, place in found]
    for family, number, place in others:
        with suppress(OSError):  # the last one's error is told
            return _open(family, number, place, deadline_s)
    return _open(*last, deadline_s)


def _open(family: int, number: int, place: Any, deadline_s: float) -> socket.socket:
    opened = socket.socket(family, socket.SOCK_STREAM, number)
    try:
        _limit(opened, deadline_s)
        opened.connect(place)
        if family != socket.AF_UNIX:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        opened.close()
        raise
    return opened


def _limit(opened: socket.socket, deadline_s: float) -> None:
    """Let the next step on a socket take until a deadline."""
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    opened.settimeout(left_s)


def _reason(error: OSError) -> str:
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]
