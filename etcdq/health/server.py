"""The thread that answers probes, with a loop of its own."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import trio

from etcdq.endpoint import Endpoint
from etcdq.health.http import Http
from etcdq.health.status import Status

CONNECTIONS_MAX: Final = 100
"""Open at a time; more are closed at once: probes are few, and a process has few descriptors."""
SILENCE_S: Final = 10.0
"""A connection that asks nothing for so long is closed."""
STOP_S: Final = 2.0
READ_BYTES: Final = 16_384


class HealthServer:
    """Made by `open_health`."""

    def __init__(self, status: Status, endpoint: Endpoint, clock: Callable[[], float]) -> None:
        self._status = status
        self._endpoint = endpoint
        self._clock = clock
        self._open_count = 0
        self._begun = threading.Event()
        self._scope = trio.CancelScope()
        self._token: trio.lowlevel.TrioToken | None = None
        self._failure: BaseException | None = None
        # As a daemon: whatever holds it up, the process can end.
        self._thread = threading.Thread(target=self._run, name="etcdq-health", daemon=True)

    @property
    def address(self) -> str:
        """Where it listens, as HOST:PORT with the port it got."""
        return str(self._endpoint)

    def check(self) -> None:
        """See that it still answers.

        Raises:
            RuntimeError: it has ended by a fault of its own.
        """
        if not self._thread.is_alive():
            raise RuntimeError("the thread that answers probes has ended") from self._failure

    def start(self) -> None:
        """Return when it listens.

        Raises:
            OSError: it cannot.
        """
        self._thread.start()
        self._begun.wait()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """End it; probes that are being answered are cut off."""
        if self._token is not None:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._scope.cancel)
        self._thread.join(STOP_S)

    def _run(self) -> None:
        try:
            trio.run(self._serve)
        except BaseException as error:  # told by `start` and `check`
            self._failure = error
        finally:
            self._begun.set()

    async def _serve(self) -> None:
        host, port = self._endpoint.host, self._endpoint.port
        listeners = await trio.open_tcp_listeners(port, host=host)
        self._endpoint = Endpoint(host, listeners[0].socket.getsockname()[1])
        self._token = trio.lowlevel.current_trio_token()
        with self._scope:
            self._begun.set()
            await trio.serve_listeners(self._answer, listeners)

    async def _answer(self, stream: trio.SocketStream) -> None:
        if self._open_count >= CONNECTIONS_MAX:
            await trio.aclose_forcefully(stream)
            return
        self._open_count += 1
        try:
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                await answer_probes(stream, Http(self._status, self._clock))
        finally:
            self._open_count -= 1


async def answer_probes(stream: trio.abc.Stream, http: Http) -> None:
    """Answer what comes on a connection, until it ends or falls silent; then close it."""
    async with stream:
        while not http.is_over:
            with trio.move_on_after(SILENCE_S) as limit:
                out = http.receive(bytes(await stream.receive_some(READ_BYTES)))
                if out:
                    await stream.send_all(out)
            if limit.cancelled_caught:
                return


@contextmanager
def open_health(
    status: Status,
    port: int,
    *,
    host: str = "127.0.0.1",
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[HealthServer]:
    """Answer `/live`, `/ready` and `/metrics` from a thread, until the block is left.

    Open it after forking: a child has no threads of its parent.

    Args:
        status: read at each request, from that thread.
        port: 0 for a free one, see `HealthServer.address`.
        host: whose probes it hears.
        clock: what `status.beat_s` is on.

    Raises:
        OSError: it cannot listen there.
    """
    server = HealthServer(status, Endpoint(host, port), clock)
    server.start()
    try:
        yield server
    finally:
        server.stop()
