"""Bind the addresses of a node: TCP hosts and UNIX sockets.

Trio shell.
"""

import contextlib
import errno
import os
import socket
import stat
from collections.abc import Iterable
from dataclasses import dataclass, replace

import trio

from etcdq.actors import limits
from etcdq.server.values import ListenUrl


class ListenError(OSError):
    """An address cannot be bound; the text is one line that names it and says why."""


@dataclass(frozen=True, slots=True)
class Listening:
    """One bound address and the URL by which it is reached (with the port it really got)."""

    listener: trio.SocketListener
    url: ListenUrl


async def listen(urls: Iterable[ListenUrl]) -> list[Listening]:
    """Bind every URL, or none of them.

    Raises:
        ListenError: the first one that cannot be bound.
    """
    bound: list[Listening] = []
    try:
        for url in urls:
            try:
                bound += [_unix(url)] if url.path else await _tcp(url)
            except (OSError, UnicodeError) as error:
                raise ListenError(f"cannot listen on {url}: {_why(error, url)}") from error
    except BaseException:  # cancelled or failed: nothing stays bound
        close(bound)
        raise
    return bound


def close(bound: Iterable[Listening]) -> None:
    """Stop listening; the file of a UNIX socket goes too."""
    for each in bound:
        each.listener.socket.close()
        if each.url.path:
            with contextlib.suppress(OSError):  # someone removed it before us: gone all the same
                os.unlink(each.url.path)


async def _tcp(url: ListenUrl) -> list[Listening]:
    listeners = await trio.open_tcp_listeners(url.port, host=url.host)
    bound = []
    for listener in listeners:
        _keep_alive(listener.socket)
        port = listener.socket.getsockname()[1]
        bound.append(Listening(listener, replace(url, port=port)))
    return bound


def _keep_alive(sock: trio.socket.SocketType) -> None:
    """Let the kernel ask silent peers of the connections to come whether they are still there."""
    for level, option, value in (
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, limits.KEEPALIVE_IDLE_S),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, limits.KEEPALIVE_PERIOD_S),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, limits.KEEPALIVE_PROBES),
    ):
        sock.setsockopt(level, option, value)


def _unix(url: ListenUrl) -> Listening:
    _remove_stale(url.path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(url.path)
        sock.listen(socket.SOMAXCONN)
    except BaseException:  # the same for the one socket
        sock.close()
        raise
    return Listening(trio.SocketListener(trio.socket.from_stdlib_socket(sock)), url)


def _remove_stale(path: str) -> None:
    """Remove a socket's file that nobody listens on, as a killed node leaves it behind."""
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return
    except OSError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
        except OSError:
            pass  # a full backlog or no permission: somebody lives there, let bind say so


def _why(error: OSError | UnicodeError, url: ListenUrl) -> str:
    if isinstance(error, socket.gaierror | UnicodeError):
        return f"unknown host {url.host!r}"
    if error.errno == errno.EADDRINUSE:
        return "the path exists already" if url.path else "the port is in use"
    return os.strerror(error.errno) if error.errno else str(error)
