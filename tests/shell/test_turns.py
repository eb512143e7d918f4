"""Turns that are taken for sessions, in the task of who has read for them."""

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Effect, Reply, Tell
from etcdq.actors.errors import CoreFault
from etcdq.actors.mailbox import KeyedHandle, Mailbox
from etcdq.actors.message import Address
from etcdq.actors.shell import Shell
from etcdq.actors.stage import Stage
from etcdq.actors.turns import Seat, SeatMailbox, Turns


class Echo:
    """Answers what it is posted with effects made of it."""

    def __init__(self, key: Any) -> None:
        self.deadline_s = NEVER_S

    def step(self, message: Any, now_s: float) -> list[Effect]:
        if isinstance(message, Exception):
            raise message
        if isinstance(message, float):
            self.deadline_s = now_s + message
            return []
        return list(message)

    def settle(self, now_s: float) -> list[Effect]:
        if now_s >= self.deadline_s:
            self.deadline_s = NEVER_S
            return [Reply(Address(RANG, None), now_s)]
        return []

    def next_deadline_s(self) -> float:
        return self.deadline_s

    def statistics(self) -> None:
        """Nothing."""


RANG: Mailbox[Any] = Mailbox()


def never(now_s: float) -> None:
    """Hear that the peer has ended."""
    raise AssertionError("it has not")


class World:
    """A shell, a session's mailbox, and whatever the session heard while it took turns."""

    def __init__(self, **options: Any) -> None:
        self.shell = Shell(Stage(Echo), {}, **options)
        self.turns = Turns((self.shell,))
        self.mailbox = SeatMailbox(self.turns)
        self.asker = Address(self.mailbox, 1)
        self.actor = KeyedHandle(self.shell.mailbox, "a")
        self.heard: list[Any] = []
        self.to_post: tuple[Any, ...] = ()
        self.seat = Seat(self.mailbox, self.receive, self.hear, self.end)

    def take(self, *messages: Any) -> None:
        """Post messages to the actor while the session takes turns."""
        self.to_post = messages
        self.turns.take([(self.seat, b"data")])

    def receive(self, data: bytes, now_s: float) -> None:
        """Do what `take` asked for."""
        assert (data, now_s) == (b"data", trio.current_time())
        for message in self.to_post:
            self.actor.post(message)

    def hear(self, now_s: float) -> None:
        """Take what was answered."""
        self.heard += self.mailbox.take()

    def end(self, now_s: float) -> None:
        """Hear that the peer has ended."""
        self.heard.append("ended")


async def test_answers_are_there_before_anybody_else_runs(autojump_clock: trio.abc.Clock) -> None:
    """No checkpoint lies between what is posted and its answer; no task is woken for it."""
    world = World()
    async with trio.open_nursery() as nursery:
        await nursery.start(world.shell.run)
        await wait_all_tasks_blocked()
        answer = Reply(world.asker, "value")
        world.take([answer])
        assert world.heard == [answer]
        assert len(world.shell.mailbox) == len(world.mailbox) == 0
        nursery.cancel_scope.cancel()


async def test_the_end_of_a_peer(autojump_clock: trio.abc.Clock) -> None:
    """An empty packet is the end; the session may post then as well."""
    world = World()
    async with trio.open_nursery() as nursery:
        await nursery.start(world.shell.run)
        await wait_all_tasks_blocked()
        world.turns.take([(world.seat, b"")])
        assert world.heard == ["ended"]
        nursery.cancel_scope.cancel()


async def test_what_is_told_on_goes_to_and_fro(autojump_clock: trio.abc.Clock) -> None:
    """An answer that makes the session post again is answered, too, a few times over."""
    world = World()
    hops = 0

    def hear(now_s: float) -> None:
        nonlocal hops
        for reply in world.mailbox.take():
            hops += 1
            world.actor.post([reply])

    async with trio.open_nursery() as nursery:
        await nursery.start(world.shell.run)
        await wait_all_tasks_blocked()
        first = [Reply(world.asker, "again")]
        seat = Seat(world.mailbox, lambda *_: world.actor.post(first), hear, never)
        world.turns.take([(seat, b"x")])
        assert hops == 4
        # What is left goes the usual way: the shell's task answers it.
        await wait_all_tasks_blocked()
        assert len(world.mailbox.take()) == 1
        nursery.cancel_scope.cancel()


async def test_posts_of_others_take_part_and_wake_others(autojump_clock: trio.abc.Clock) -> None:
    """What is for another session wakes that one's reader, which sees it later."""
    world = World()
    other: Mailbox[Any] = Mailbox()
    seen: list[Any] = []

    async def read() -> None:
        await other.wait_posted()
        seen.extend(other.take())

    async with trio.open_nursery() as nursery:
        await nursery.start(world.shell.run)
        nursery.start_soon(read)
        await wait_all_tasks_blocked()
        world.take([Tell(other, "news")])
        assert seen == []
        await wait_all_tasks_blocked()
        assert seen == ["news"]
        nursery.cancel_scope.cancel()


async def test_a_deadline_born_in_a_turn_is_kept(autojump_clock: trio.abc.Clock) -> None:
    """The shell's own task wakes for it at the exact instant."""
    world = World()
    async with trio.open_nursery() as nursery:
        await nursery.start(world.shell.run)
        await wait_all_tasks_blocked()
        began_s = trio.current_time()
        world.take(3.0)
        await RANG.wait_posted()
        (rang,) = RANG.take()
        assert rang.value == trio.current_time() == began_s + 3.0
        nursery.cancel_scope.cancel()


async def test_a_core_that_fails_ends_the_shell_and_not_the_session(
    autojump_clock: trio.abc.Clock,
) -> None:
    """Whoever happened to take the turn goes on; the shell's task raises the fault."""
    world = World()
    with pytest.RaisesGroup(CoreFault):
        async with trio.open_nursery() as nursery:
            await nursery.start(world.shell.run)
            await wait_all_tasks_blocked()
            world.take(ValueError("broken"))
            world.take([Reply(world.asker, "too late")])
            assert world.heard == []


async def test_a_shell_with_a_store_takes_its_own_turns(autojump_clock: trio.abc.Clock) -> None:
    """What must be waited for is not done in place; nothing that was posted is lost."""

    async def persist(records: list[Any]) -> None:
        await trio.sleep(1.0)

    world = World(persist=persist)
    async with trio.open_nursery() as nursery:
        await nursery.start(world.shell.run)
        await wait_all_tasks_blocked()
        answer = Reply(world.asker, "value")
        world.take([answer])
        assert world.heard == []
        await world.mailbox.wait_posted()
        assert list(world.mailbox.take()) == [answer]
        nursery.cancel_scope.cancel()


async def test_a_session_that_fails_holds_nobody(autojump_clock: trio.abc.Clock) -> None:
    """What it posted before is done, and posts wake the shell again; its own task has the error."""
    world = World()

    def fail(data: bytes, now_s: float) -> None:
        world.actor.post([Reply(world.asker, "value")])
        raise LookupError("bad")

    seat = Seat(world.mailbox, fail, world.hear, never)
    async with trio.open_nursery() as nursery:
        await nursery.start(world.shell.run)
        await wait_all_tasks_blocked()
        world.turns.take([(seat, b"x")])
        assert [reply.value for reply in world.heard] == ["value"]
        with pytest.raises(LookupError, match="bad"):
            seat.check()
        world.actor.post([Reply(world.asker, "later")])
        await world.mailbox.wait_posted()
        nursery.cancel_scope.cancel()


class Session:
    """One that posts its name when it receives, and hears it come back."""

    def __init__(self, world: World, name: str) -> None:
        self.mailbox = SeatMailbox(world.turns)
        self.heard: list[Any] = []
        answer = [Reply(Address(self.mailbox, 1), name)]
        self.seat = Seat(
            self.mailbox, lambda *_: world.actor.post(answer), lambda _: self.hear(), never
        )

    def hear(self) -> None:
        """Take everything."""
        self.heard += [getattr(item, "value", item) for item in self.mailbox.take()]


async def test_sessions_that_are_busy_at_once_share_a_turn(autojump_clock: trio.abc.Clock) -> None:
    """One turn for all of them, and each hears its own answer."""
    world = World()
    steps = 0
    run = world.shell.stage.run

    def count(*batch: Any) -> Any:
        nonlocal steps
        steps += 1
        return run(*batch)

    world.shell.stage.run = count  # type: ignore[method-assign]
    sessions = [Session(world, name) for name in ("first", "second", "third")]
    async with trio.open_nursery() as nursery:
        await nursery.start(world.shell.run)
        await wait_all_tasks_blocked()
        world.turns.take([(session.seat, b"x") for session in sessions])
        assert [session.heard for session in sessions] == [["first"], ["second"], ["third"]]
        assert steps == 1
        nursery.cancel_scope.cancel()


async def test_who_is_told_in_a_turn_hears_it_there(autojump_clock: trio.abc.Clock) -> None:
    """A session that only waits is not woken for it; between turns it is."""
    world = World()
    waiting = Session(world, "waiting")
    woken = 0

    async def wait() -> None:
        nonlocal woken
        while True:
            await waiting.mailbox.wait_posted()
            woken += 1
            waiting.hear()

    async with trio.open_nursery() as nursery:
        await nursery.start(world.shell.run)
        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        world.take([Tell(waiting.mailbox, "news"), Tell(waiting.mailbox, "more")])
        assert waiting.heard == ["news", "more"]
        await wait_all_tasks_blocked()
        assert woken == 0
        waiting.mailbox.post("late")
        await wait_all_tasks_blocked()
        assert (waiting.heard, woken) == (["news", "more", "late"], 1)
        nursery.cancel_scope.cancel()


async def test_an_error_of_one_that_shares_a_turn_is_its_own(
    autojump_clock: trio.abc.Clock,
) -> None:
    """The others hear their answers; it gets its error in its own task, which is woken."""
    world = World()
    broken = SeatMailbox(world.turns)

    def fail(now_s: float) -> None:
        broken.take()
        raise LookupError("bad")

    answer = [Reply(Address(broken, 1), "value")]
    seat = Seat(broken, lambda *_: world.actor.post(answer), fail, never)
    good = Session(world, "mine")
    errors: list[Exception] = []

    async def own_task() -> None:
        await broken.wait_posted()
        try:
            seat.check()
        except LookupError as error:
            errors.append(error)

    async with trio.open_nursery() as nursery:
        await nursery.start(world.shell.run)
        nursery.start_soon(own_task)
        await wait_all_tasks_blocked()
        world.turns.take([(seat, b"x"), (good.seat, b"x")])
        assert good.heard == ["mine"]
        await wait_all_tasks_blocked()
        assert [str(error) for error in errors] == ["bad"]
        seat.check()
        nursery.cancel_scope.cancel()


async def test_a_session_that_is_over_is_told_nothing(autojump_clock: trio.abc.Clock) -> None:
    """What is posted to a closed mailbox is dropped, in a turn too."""
    world = World()
    gone = Session(world, "gone")
    gone.mailbox.close()
    async with trio.open_nursery() as nursery:
        await nursery.start(world.shell.run)
        await wait_all_tasks_blocked()
        world.take([Tell(gone.mailbox, "news")])
        assert gone.heard == []
        nursery.cancel_scope.cancel()


async def test_a_session_that_failed_gets_nothing_more(autojump_clock: trio.abc.Clock) -> None:
    """What is read before its own task ends it would be taken amiss; its first error is told."""
    world = World()
    got: list[bytes] = []

    def receive(data: bytes, now_s: float) -> None:
        got.append(data)
        world.mailbox.post("heard")
        raise LookupError("the cause")

    def hear(now_s: float) -> None:
        world.mailbox.take()
        raise LookupError("a consequence")

    seat = Seat(world.mailbox, receive, hear, never)
    world.turns.take([(seat, b"first")])
    world.turns.take([(seat, b"second")])
    assert got == [b"first"]
    with pytest.raises(LookupError, match="the cause"):
        seat.check()
