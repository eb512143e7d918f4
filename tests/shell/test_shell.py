"""The one loop that runs every core."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Effect, Log, Persist, Publish, Reply, Tell
from etcdq.actors.errors import CoreFault
from etcdq.actors.message import Address
from etcdq.actors.shell import Shell
from etcdq.actors.stage import Stage


class Timer:
    """A core whose messages are lists of effects, or a deadline; notes when it settled."""

    def __init__(self, key: Any) -> None:
        self.deadline_s = NEVER_S
        self.fired_s: list[float] = []

    def step(self, message: Any, now_s: float) -> list[Effect]:
        if isinstance(message, float):
            self.deadline_s = now_s + message
            return []
        return list(message)

    def settle(self, now_s: float) -> list[Effect]:
        if now_s >= self.deadline_s:
            self.fired_s.append(now_s)
            self.deadline_s = NEVER_S
        return []

    def next_deadline_s(self) -> float:
        return self.deadline_s

    def statistics(self) -> None:
        return None


class Noted:
    """A handle that calls back with what is posted to it."""

    def __init__(self, note: Callable[[Any], None]) -> None:
        self._note = note

    def post(self, message: Any) -> None:
        self._note(message)


async def test_persist_then_reply_then_publish(autojump_clock: trio.abc.Clock) -> None:
    """Whatever the order of the effects; replies wait for the store, logs come last."""
    seen: list[Any] = []
    board: dict[str, Any] = {}

    async def persist(records: list[Any]) -> None:
        seen.append(("persist begins", records))
        await trio.sleep(1.0)
        seen.append(("persisted", trio.current_time() - began_s))

    shell = Shell(
        Stage(Timer), board, persist=persist, log=lambda level, event, fields: seen.append(event)
    )
    asker = Address(Noted(seen.append), 1)
    other = Noted(lambda message: seen.append((message, dict(board))))
    reply = Reply(asker, "value")
    effects = [
        Publish("topic", 5), Tell(other, "told"), Log("info", "logged", {}), reply,
        Persist("record"),
    ]  # fmt: skip
    async with trio.open_nursery() as nursery:
        await nursery.start(shell.run)
        began_s = trio.current_time()
        shell.mailbox.post(("a", effects))
        await trio.sleep(2.0)
        nursery.cancel_scope.cancel()
    assert seen == [
        ("persist begins", ["record"]),
        ("persisted", 1.0),
        reply,
        ("told", {"topic": 5}),
        "logged",
    ]


async def test_nobody_runs_between_reply_and_publish(autojump_clock: trio.abc.Clock) -> None:
    """Who is woken by a reply finds everything of that batch on the board."""
    board: dict[str, Any] = {}
    found: list[Any] = []
    woken = trio.Event()
    shell = Shell(Stage(Timer), board)
    asker = Address(Noted(lambda _: woken.set()), 1)

    async def look() -> None:
        await woken.wait()
        found.append(board.get("topic"))

    async with trio.open_nursery() as nursery:
        await nursery.start(shell.run)
        nursery.start_soon(look)
        await wait_all_tasks_blocked()
        shell.mailbox.post(("a", [Reply(asker, 1)]))
        shell.mailbox.post(("b", [Publish("topic", 5)]))
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert found == [5]


async def test_what_comes_during_a_commit_is_the_next_batch(autojump_clock: trio.abc.Clock) -> None:
    """Group commit: everything that arrived meanwhile goes to the store together."""
    commits: list[list[Any]] = []

    async def persist(records: list[Any]) -> None:
        commits.append(records)
        await trio.sleep(1.0)

    shell = Shell(Stage(Timer), {}, persist=persist)
    async with trio.open_nursery() as nursery:
        await nursery.start(shell.run)
        shell.mailbox.post(("a", [Persist(1)]))
        await wait_all_tasks_blocked()
        shell.mailbox.post(("a", [Persist(2)]))
        shell.mailbox.post(("b", [Persist(3)]))
        await trio.sleep(5.0)
        nursery.cancel_scope.cancel()
    assert commits == [[1], [2, 3]]


async def test_deadlines_are_exact(autojump_clock: trio.abc.Clock) -> None:
    """A core settles at its instant without any message, and earlier if it moved earlier."""
    shell = Shell(Stage(Timer), {})
    async with trio.open_nursery() as nursery:
        await nursery.start(shell.run)
        began_s = trio.current_time()
        shell.mailbox.post(("slow", 600.0))
        shell.mailbox.post(("fast", 5.0))
        await trio.sleep(1.0)
        shell.mailbox.post(("moved", 100.0))
        await trio.sleep(1.0)
        shell.mailbox.post(("moved", 1.5))
        await trio.sleep(1000.0)
        nursery.cancel_scope.cancel()
    fired_s = {
        key: [instant_s - began_s for instant_s in core.fired_s]
        for key, core in shell.stage.cores.items()
        if isinstance(core, Timer)
    }
    assert fired_s == {"slow": [600.0], "fast": [5.0], "moved": [3.5]}


async def test_a_fault_of_a_core_ends_the_shell(autojump_clock: trio.abc.Clock) -> None:
    """It names the key and the message, so that the node's last log line does."""
    shell = Shell(Stage(Timer), {})
    shell.mailbox.post(("jobs", None))
    with pytest.raises(CoreFault, match="the core of 'jobs' failed on None"):
        await shell.run()


async def test_an_effect_nobody_performs_is_our_bug(autojump_clock: trio.abc.Clock) -> None:
    """A session's own effects do not end up in the shell of the queues."""
    shell = Shell(Stage(Timer), {})
    shell.mailbox.post(("jobs", ["surprise"]))
    with pytest.raises(AssertionError, match="no shell performs 'surprise'"):
        await shell.run()
