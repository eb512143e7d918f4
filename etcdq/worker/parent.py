"""Several worker processes, and the one that looks after them. Trio shell.

A child stops by itself when its standard input ends, so it does not outlive its parent. It has a
process group of its own: Ctrl-C on a terminal is for the parent, which
passes it on as SIGTERM.
"""

import random
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import structlog
import trio

from etcdq.worker.control import Control
from etcdq.worker.reload import snapshot
from etcdq.worker.supervision import (
    EXIT_CLEAN,
    EXIT_ERROR,
    EXIT_KEPT_DYING,
    EXIT_SIGNAL,
    EXIT_USAGE,
    Deaths,
    worst,
)

OVERTIME_S: Final = 10.0
"""A child that has not ended so long after its grace is killed."""
LOOK_S: Final = 0.5
"""Between two looks at the files, with reload."""

log = structlog.get_logger("etcdq.worker")


class Parent:
    """Starts children, and replaces those that die.

    Args:
        command: of a child, by its place from 0.
        count: how many run at a time.
        grace_s: what a child has to end.
        rng: for the waits before a child is replaced.
        watched: the folder whose Python files make all children begin anew when they change.
    """

    def __init__(
        self,
        command: Callable[[int], Sequence[str]],
        count: int,
        grace_s: float,
        rng: random.Random,
        watched: Path | None = None,
    ) -> None:
        self._command = command
        self._count = count
        self._grace_s = grace_s
        self._rng = rng
        self._watched = watched
        self._control = Control()
        self._children: set[trio.Process] = set()
        self._renewed: set[trio.Process] = set()  # told to end, to begin anew
        self._changed = trio.Event()
        self._codes: list[int] = []
        self._exit_code = EXIT_CLEAN

    async def run(self) -> int:
        """Keep children running until a signal; return the exit code of it all."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self._heed_signals)
            nursery.start_soon(self._limit)
            if self._watched is not None:
                nursery.start_soon(self._watch, self._watched)
            async with trio.open_nursery() as places:
                for number in range(self._count):
                    places.start_soon(self._keep_one, number)
            nursery.cancel_scope.cancel()
        return self._exit_code or worst(self._codes)

    async def _keep_one(self, place: int) -> None:
        deaths = Deaths(self._rng)
        while not self._control.is_stopping:
            began_s = trio.current_time()
            try:
                process = await self._run_child(place)
            except OSError as error:  # no memory, no more processes: others go on meanwhile
                event = "cannot start a worker process"
                await self._wait_after(deaths, 0.0, event, place=place, error=str(error))
                continue
            code = process.returncode
            assert code is not None
            if process in self._renewed:
                self._renewed.discard(process)
            elif self._control.is_stopping:
                # Ended by our signal itself: it had not begun to work, or had ended already.
                self._codes.append(EXIT_CLEAN if code == -signal.SIGTERM else code)
            elif self._watched is not None:
                log.error("a worker process ended, it waits for a change", place=place, code=code)
                with self._control.until_stopped():
                    await self._changed.wait()
            elif code == EXIT_USAGE:
                self._fail(EXIT_USAGE)
            else:
                lived_s = trio.current_time() - began_s
                event = "a worker process died"
                await self._wait_after(deaths, lived_s, event, place=place, code=code)

    async def _wait_after(
        self, deaths: Deaths, lived_s: float, event: str, **fields: object
    ) -> None:
        wait_s = deaths.died(lived_s)
        told = {**fields, "lived_s": round(lived_s, 1)}
        if wait_s is None:
            log.error("a worker process kept dying", deaths=deaths.in_a_row, **told)
            self._fail(EXIT_KEPT_DYING)
            return
        log.error(event, again_in_s=round(wait_s, 1), **told)
        with self._control.until_stopped():
            await trio.sleep(wait_s)

    async def _run_child(self, place: int) -> trio.Process:
        process = await trio.lowlevel.open_process(
            list(self._command(place)), stdin=subprocess.PIPE, process_group=0
        )
        self._children.add(process)
        if self._control.is_stopping:  # it was started while the others were told to end
            process.terminate()
        log.info("worker process started", place=place, pid=process.pid)
        try:
            await process.wait()
        finally:
            self._children.discard(process)
            if process.returncode is None:
                process.kill()
            if process.stdin is not None:
                await trio.aclose_forcefully(process.stdin)
        return process

    def _fail(self, code: int) -> None:
        self._exit_code = self._exit_code or code
        self._stop()

    def _stop(self) -> None:
        self._control.stop()
        self._tell_all(trio.Process.terminate)

    def _tell_all(self, tell: Callable[[trio.Process], None]) -> None:
        for process in self._children:
            tell(process)

    async def _heed_signals(self, *, task_status: trio.TaskStatus[None]) -> None:
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            task_status.started()
            async for number in signals:
                if self._control.is_stopping:
                    self._exit_code = EXIT_SIGNAL + number
                self._stop()

    async def _limit(self) -> None:
        await self._control.stopping.wait()
        await trio.sleep(self._grace_s + OVERTIME_S)
        log.error("a worker process did not end, it is killed")
        self._exit_code = self._exit_code or EXIT_ERROR
        self._tell_all(trio.Process.kill)

    async def _watch(self, folder: Path) -> None:
        before = await trio.to_thread.run_sync(snapshot, folder)
        while True:
            await trio.sleep(LOOK_S)
            now = await trio.to_thread.run_sync(snapshot, folder)
            if now != before and not self._control.is_stopping:
                log.info("files have changed: the worker processes begin anew")
                self._renewed |= self._children
                self._tell_all(trio.Process.terminate)
                self._changed.set()
                self._changed = trio.Event()
            before = now
