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
from etcdq.server.beanstalk.shell import serve_connection as serve_beanstalk
from etcdq.server.config import NodeConfig
from etcdq.server.etcd.shell import serve_connection as serve_etcd
from etcdq.server.listen import Listening, close, listen
from etcdq.server.node import Node
from etcdq.server.values import BeanstalkAddress

ServeStream = Callable[[trio.abc.Stream], Awaitable[None]]

ACCEPT_BACKOFF_S = 0.1
"""Pause after an accept that failed, most often for want of descriptors; as Trio's own server."""


@dataclass(frozen=True, slots=True)
class Daemon:
    """A node that listens. What is started in `nursery` lives until the node has drained.

    `urls` are those of the etcd door, `beanstalk` the addresses of the other one, if there is one.
    """

    node: Node
    urls: tuple[str, ...]
    beanstalk: tuple[str, ...]
    nursery: trio.Nursery


@asynccontextmanager
async def open_daemon(config: NodeConfig, *, log: WriteLog) -> AsyncIterator[Daemon]:
    """Run a node; when the block ends, drain it within `config.drain_timeout` seconds.

    Raises:
        ListenError: an address cannot be bound; nothing was started.
        CoreFault: a core of the node failed.
    """
    addresses = [*config.listen_client_urls]
    if config.listen_beanstalk is not None:
        addresses.append(config.listen_beanstalk)
    bound = await listen(addresses)
    urls, beanstalk = _names(bound, of_beanstalk=False), _names(bound, of_beanstalk=True)
    try:
        with _ungrouped():
            async with tricycle.open_service_nursery() as shells:
                node = Node(config, urls, log=log)
                await node.start(shells)
                drain = trio.Event()

                async def etcd(stream: trio.abc.Stream) -> None:
                    await serve_etcd(stream, node.door, drain=drain, log=log)

                async def tubes(stream: trio.abc.Stream) -> None:
                    await serve_beanstalk(stream, node.beanstalk, drain=drain, log=log)

                doors = [(each, tubes if _is_of_beanstalk(each) else etcd) for each in bound]
                async with open_sessions(
                    doors, drain, drain_timeout_s=config.drain_timeout, log=log
                ):
                    yield Daemon(node, urls, beanstalk, shells)
                    node.drain()
                shells.cancel_scope.cancel()
    finally:
        close(bound)


def _is_of_beanstalk(listening: Listening) -> bool:
    return isinstance(listening.url, BeanstalkAddress)


def _names(bound: Sequence[Listening], *, of_beanstalk: bool) -> tuple[str, ...]:
    return tuple(str(each.url) for each in bound if _is_of_beanstalk(each) == of_beanstalk)


@asynccontextmanager
async def open_sessions(
    doors: Sequence[tuple[Listening, ServeStream]],
    drain: trio.Event,
    *,
    drain_timeout_s: float,
    log: WriteLog,
    connections_max: int | None = None,
) -> AsyncIterator[None]:
    """Serve every connection in a task of its own; when the block ends, let them finish.

    Args:
        doors: where to listen (closed at the end), and what serves one connection of each; what
            that raises ends the one connection only.
        drain: set when the listeners are closed; `serve` shall return soon after.
        drain_timeout_s: from then on; who is left is cancelled.
        connections_max: None for what `limits` and the process allow.
    """
    gate = trio.Semaphore(connections_max or _connections_max())
    async with trio.open_nursery() as sessions:
        async with trio.open_nursery() as listeners:
            for listening, serve in doors:
                listeners.start_soon(_accept, listening.listener, serve, sessions, gate, log)
            yield
            listeners.cancel_scope.cancel()
        close(listening for listening, _ in doors)
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
