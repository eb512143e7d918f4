"""Stopping: what waits is woken, what runs goes on; or what runs is cut off too. Trio shell."""

from collections.abc import Iterator
from contextlib import contextmanager

import trio


class Control:
    """Shared by everything that a worker process runs."""

    def __init__(self) -> None:
        self.stopping = trio.Event()
        self.is_cut_off = False
        self._waiting: set[trio.CancelScope] = set()
        self._running: set[trio.CancelScope] = set()

    @property
    def is_stopping(self) -> bool:
        """Whether nothing new is to be begun."""
        return self.stopping.is_set()

    def stop(self) -> None:
        """Reserve nothing more; what runs goes on."""
        self.stopping.set()
        _cancel(self._waiting)

    def cut_off(self) -> None:
        """Stop, and cancel what runs: its jobs are handed back."""
        self.is_cut_off = True
        self.stop()
        _cancel(self._running)

    @contextmanager
    def until_stopped(self) -> Iterator[None]:
        """Leave the block, cancelled, when this stops."""
        with trio.CancelScope() as scope, _among(self._waiting, scope):
            if self.is_stopping:
                scope.cancel()
            yield

    @contextmanager
    def until_cut_off(self) -> Iterator[trio.CancelScope]:
        """Leave the block, cancelled, when what runs is cut off."""
        with trio.CancelScope() as scope, _among(self._running, scope):
            if self.is_cut_off:
                scope.cancel()
            yield scope


@contextmanager
def _among(scopes: set[trio.CancelScope], scope: trio.CancelScope) -> Iterator[None]:
    scopes.add(scope)
    try:
        yield
    finally:
        scopes.discard(scope)


def _cancel(scopes: set[trio.CancelScope]) -> None:
    for scope in scopes:
        scope.cancel()
