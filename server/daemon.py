"""One running node: who outlives whom, who is let in, and how all of it ends.

    node shells      the key space and the queues; cancelled last, when nobody asks any more
      sessions       one task per connection; asked to end by `drain`, cancelled at the timeout
        listeners    cancelled first: from then on nobody new comes in

A fault in a session ends that session. A fault in a node's core cancels sessions first, then the
other shells, and leaves `open_daemon` as the one `CoreFault`.

Trio shell.
"""

import errno
import resource
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import tricycle
import trio

from etcdq.actors import limits
from etcdq.actors.errors import CoreFault
from etcdq.actors.shell import WriteLog
from etcdq.server.config import NodeConfig
from etcdq.server.etcd.shell import serve_connection
from etcdq.server.listen import Listening, close, listen
from etcdq.server.node import Node

ServeStream = Callable[[trio.abc.Stream], Awaitable[None]]

ACCEPT_BACKOFF_S = 0.1
"""Pause after an accept that failed, most often for want of descriptors; as Trio's own server."""


@dataclass(frozen=True, slots=True)
class Daemon:
    """A node that listens. What is started in `nursery` lives until the node has drained."""

    node: Node
    urls: tuple[str, ...]
    nursery: trio.Nursery


@asynccontextmanager
async def open_daemon(config: NodeConfig, *, log: WriteLog) -> AsyncIterator[Daemon]:
    """Run a node; when the block ends, drain it within `config.drain_timeout` seconds.

    Raises:
        ListenError: an address cannot be bound; nothing was started.
        CoreFault: a core of the node failed.
    """
    bound = await listen(config.listen_client_urls)
    urls = tuple(str(each.url) for each in bound)
    try:
        with _ungrouped():
            async with tricycle.open_service_nursery() as shells:
                node = Node(config, urls, log=log)
                await node.start(shells)
                drain = trio.Event()

                async def serve(stream: trio.abc.Stream) -> None:
                    await serve_connection(stream, node.door, drain=drain, log=log)

                async with open_sessions(
                    bound, serve, drain, drain_timeout_s=config.drain_timeout, log=log
                ):
                    yield Daemon(node, urls, shells)
                    node.drain()
                shells.cancel_scope.cancel()
    finally:
        close(bound)


@asynccontextmanager
async def open_sessions(
    bound: Sequence[Listening],
    serve: ServeStream,
    drain: trio.Event,
    *,
    drain_timeout_s: float,
    log: WriteLog,
    connections_max: int | None = None,
) -> AsyncIterator[None]:
    """Serve every connection in a task of its own; when the block ends, let them finish.

    Args:
        bound: closed at the end.
        serve: serves one connection; what it raises ends that connection only.
        drain: set when the listeners are closed; `serve` shall return soon after.
        drain_timeout_s: from then on; who is left is cancelled.
        connections_max: None for what `limits` and the process allow.
    """
    gate = trio.Semaphore(connections_max or _connections_max())
    async with trio.open_nursery() as sessions:
        async with trio.open_nursery() as listeners:
            for each in bound:
                listeners.start_soon(_accept, each.listener, serve, sessions, gate, log)
            yield
            listeners.cancel_scope.cancel()
        close(bound)
        drain.set()
        sessions.cancel_scope.deadline = trio.current_time() + drain_timeout_s
    if sessions.cancel_scope.cancelled_caught:
        log("warn", "connections were cut: they did not end in time", {"after_s": drain_timeout_s})


async def _accept(
    listener: trio.abc.Listener[trio.abc.Stream],
    serve: ServeStream,
    sessions: trio.Nursery,
    gate: trio.Semaphore,
    log: WriteLog,
) -> None:
    async def session(stream: trio.abc.Stream) -> None:
        try:
            await serve(stream)
        except* Exception as group:
            log("error", "a session failed, its connection is closed", {"exc_info": group})
        finally:
            gate.release()
            await trio.aclose_forcefully(stream)

    failing = full = False
    while True:
        if gate.value == 0 and not full:
            log("warn", "no more connections are let in until one ends", {})
        full = gate.value == 0
        # Who is not let in waits in the kernel's backlog, and costs us nothing there.
        await gate.acquire()
        try:
            stream = await listener.accept()
        except OSError as error:
            gate.release()
            if not failing:
                reason = errno.errorcode.get(error.errno or 0, str(error))
                log("error", "cannot accept connections, trying again", {"reason": reason})
            failing = True
            await trio.sleep(ACCEPT_BACKOFF_S)
        else:
            failing = False
            sessions.start_soon(session, stream)


def _connections_max() -> int:
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return limits.CONNECTIONS_MAX
    return max(1, min(limits.CONNECTIONS_MAX, descriptors - limits.DESCRIPTORS_RESERVED))


@contextmanager
def _ungrouped() -> Iterator[None]:
    """Let one error out of the nurseries as itself, a fault of ours before all others.

    That there are nurseries in here is not the caller's concern.
    """
    try:
        yield
    except BaseExceptionGroup as group:
        errors = [error for error in _leaves(group) if not isinstance(error, trio.Cancelled)]
        faults = [error for error in errors if isinstance(error, CoreFault)]
        if faults or len(errors) == 1:
            error = (faults or errors)[0]
            raise error from error.__cause__
        raise


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
