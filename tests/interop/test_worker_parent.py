"""The process that looks after worker processes, with small programs as its children."""

import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import MockClock

from etcdq.worker.parent import Parent
from etcdq.worker.supervision import (
    DEATHS_MAX,
    EXIT_ERROR,
    EXIT_KEPT_DYING,
    EXIT_UNFINISHED,
    EXIT_USAGE,
)

LIMIT_S = 60.0
WAITING = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit({code}));"
"""What a child begins with that ends by SIGTERM with this code."""


def program(text: str) -> Callable[[int], list[str]]:
    """Return the command of any child: it starts fast, for it loads nothing."""
    return lambda _place: [sys.executable, "-S", "-E", "-c", text]


def waiting(folder: Path, code: int = 0) -> Callable[[int], list[str]]:
    """Return the command of a child that notes its pid in a folder, and waits for SIGTERM."""
    note = f"import os; open({str(folder)!r} + '/%d' % os.getpid(), 'w').close();"
    return program(WAITING.format(code=code) + note + "signal.pause()")


class Run:
    """A parent at work; afterwards, its exit code."""

    code: int | None = None


@asynccontextmanager
async def running(parent: Parent) -> AsyncIterator[Run]:
    """Run a parent, and wait for its end."""
    run = Run()

    async def work() -> None:
        run.code = await parent.run()

    with trio.fail_after(LIMIT_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)
            yield run


async def until(is_so: Callable[[], object]) -> None:
    """Look at what other processes do, until something is so."""
    while not is_so():  # noqa: ASYNC110 - they set no event of ours
        await trio.sleep(0.01)


async def pids(folder: Path, count: int, but: Iterable[int] = ()) -> set[int]:
    """Wait for so many children that have noted themselves."""

    def noted() -> set[int]:
        return {int(name) for name in os.listdir(folder)} - set(but)

    await until(lambda: len(noted()) >= count)
    return noted()


@pytest.mark.parametrize("text", ["import os; os.kill(os.getpid(), 9)", "raise SystemExit(0)"])
async def test_child_that_keeps_dying(text: str, autojump_clock: MockClock) -> None:
    """It is replaced with waits that grow, and given up with an exit code of its own."""
    with capture_logs() as lines:
        code = await Parent(program(text), 1, 30.0, random.Random(0)).run()

    assert code == EXIT_KEPT_DYING
    waits = [line["again_in_s"] for line in lines if line["event"] == "a worker process died"]
    assert len(waits) == DEATHS_MAX - 1
    assert waits == sorted(waits[:6]) + waits[6:]


async def test_child_that_cannot_be_started(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    """A system without memory or processes left is asked again, with waits that grow."""
    start, refusals = trio.lowlevel.open_process, [OSError(11, "busy"), OSError(12, "no memory")]

    async def refused(*arguments: Any, **options: Any) -> trio.Process:
        if refusals:
            raise refusals.pop(0)
        return await start(*arguments, **options)

    monkeypatch.setattr(trio.lowlevel, "open_process", refused)
    with capture_logs() as lines:
        code = await Parent(program("raise SystemExit(2)"), 1, 30.0, random.Random(0)).run()

    assert code == EXIT_USAGE
    told = [line for line in lines if line["event"] == "cannot start a worker process"]
    assert [line["error"] for line in told] == ["[Errno 11] busy", "[Errno 12] no memory"]
    assert 0 < told[0]["again_in_s"] < told[1]["again_in_s"]
    assert lines[-1]["event"] == "worker process started"


async def test_usage_error_is_not_tried_again() -> None:
    """What a child says of its command line holds for the next one too."""
    with capture_logs() as lines:
        code = await Parent(program("raise SystemExit(2)"), 1, 30.0, random.Random(0)).run()

    assert code == EXIT_USAGE
    assert [line["event"] for line in lines] == ["worker process started"]


@pytest.mark.parametrize(("child", "whole"), [(0, 0), (4, EXIT_UNFINISHED), (1, EXIT_ERROR)])
async def test_stop(child: int, whole: int, tmp_path: Path) -> None:
    """A signal is passed on, and the whole ends as its children do."""
    parent = Parent(waiting(tmp_path, child), 2, 30.0, random.Random(0))
    async with running(parent) as run:
        await pids(tmp_path, 2)
        os.kill(os.getpid(), signal.SIGTERM)

    assert run.code == whole


async def test_stop_while_a_child_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that was not there yet when the others were told to end is told as well."""
    start = trio.lowlevel.open_process

    async def slowly(*arguments: Any, **options: Any) -> trio.Process:
        process = await start(*arguments, **options)
        os.kill(os.getpid(), signal.SIGTERM)
        await trio.sleep(0.2)
        return process

    monkeypatch.setattr(trio.lowlevel, "open_process", slowly)
    with trio.move_on_after(LIMIT_S / 2) as limit:
        async with running(Parent(waiting(tmp_path), 1, LIMIT_S, random.Random(0))) as run:
            pass

    assert (limit.cancelled_caught, run.code) == (False, 0)


async def test_killed_child_is_replaced(tmp_path: Path) -> None:
    """Another one takes its place, and a clean stop after that is one."""
    parent = Parent(waiting(tmp_path), 2, 30.0, random.Random(0))
    with capture_logs() as lines:
        async with running(parent) as run:
            before = await pids(tmp_path, 2)
            os.kill(min(before), signal.SIGKILL)
            await pids(tmp_path, 1, before)
            os.kill(os.getpid(), signal.SIGTERM)

    assert run.code == 0
    (death,) = [line for line in lines if line["event"] == "a worker process died"]
    assert death["code"] == -signal.SIGKILL


async def test_child_that_is_killed_while_it_stops(tmp_path: Path) -> None:
    """The exit code is not 0: what it had in hand was not finished."""
    text = "import signal; signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(9));"
    note = f"import os; open({str(tmp_path)!r} + '/%d' % os.getpid(), 'w').close();"
    async with running(
        Parent(program(text + note + "signal.pause()"), 1, 30.0, random.Random(0))
    ) as run:
        await pids(tmp_path, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    assert run.code == EXIT_ERROR


async def test_second_signal(tmp_path: Path) -> None:
    """It is passed on as well, and is told by the exit code."""
    text = (
        "import signal, sys\n"
        "def first(*_):\n"
        f"    open({str(tmp_path)!r} + '/0', 'w').close()\n"
        "    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n"
        "signal.signal(signal.SIGTERM, first)\n"
        f"import os; open({str(tmp_path)!r} + '/%d' % os.getpid(), 'w').close()\n"
        "while True: signal.pause()"
    )
    async with running(Parent(program(text), 1, 30.0, random.Random(0))) as run:
        found = await pids(tmp_path, 1)
        os.kill(os.getpid(), signal.SIGTERM)
        await pids(tmp_path, 1, found)
        os.kill(os.getpid(), signal.SIGTERM)

    assert run.code == 128 + signal.SIGTERM


async def test_reload(tmp_path: Path) -> None:
    """A change of a Python file makes every child begin anew; one that failed waits for it."""
    notes, code = tmp_path / "notes", tmp_path / "code"
    notes.mkdir()
    code.mkdir()
    (code / "app.py").write_text("1")
    text = (
        WAITING.format(code=0)
        + f"import os, sys; open({str(notes)!r} + '/%d' % os.getpid(), 'w').close()\n"
        + f"if open({str(code / 'app.py')!r}).read() == '1': sys.exit(1)\n"
        + "signal.pause()"
    )
    parent = Parent(program(text), 1, 30.0, random.Random(0), code)
    with capture_logs() as lines:
        async with running(parent) as run:
            first = await pids(notes, 1)
            await until(lambda: any("waits for a change" in line["event"] for line in lines))
            (code / "app.py").write_text("22")
            second = await pids(notes, 1, first)
            (code / "app.py").write_text("333")
            await pids(notes, 1, first | second)
            os.kill(os.getpid(), signal.SIGTERM)

    assert run.code == 0
