"""The mailbox: many posters, one reader."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from etcdq.actors.mailbox import KeyedHandle, Mailbox


async def test_what_was_posted_is_taken_in_order(autojump_clock: trio.abc.Clock) -> None:
    """One take empties the mailbox."""
    mailbox: Mailbox[int] = Mailbox()
    for number in range(3):
        mailbox.post(number)
    assert len(mailbox) == 3
    await mailbox.wait_posted()
    assert list(mailbox.take()) == [0, 1, 2]
    assert list(mailbox.take()) == []


async def test_a_closed_mailbox_keeps_nothing(autojump_clock: trio.abc.Clock) -> None:
    """What was not taken and what comes later is dropped."""
    mailbox: Mailbox[int] = Mailbox()
    mailbox.post(1)
    mailbox.close()
    mailbox.post(2)
    assert len(mailbox) == 0
    assert list(mailbox.take()) == []


async def test_many_posts_wake_the_reader_once(autojump_clock: trio.abc.Clock) -> None:
    """It finds all of them together."""
    mailbox: Mailbox[int] = Mailbox()
    batches: list[list[int]] = []

    async def read() -> None:
        while True:
            await mailbox.wait_posted()
            batches.append(list(mailbox.take()))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        await wait_all_tasks_blocked()
        for number in range(3):
            mailbox.post(number)
        await wait_all_tasks_blocked()
        mailbox.post(3)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert batches == [[0, 1, 2], [3]]


async def test_waiting_is_always_a_checkpoint(autojump_clock: trio.abc.Clock) -> None:
    """Also when there is something to take: a busy reader lets others run."""
    mailbox: Mailbox[int] = Mailbox()
    mailbox.post(1)
    with trio.testing.assert_checkpoints():
        await mailbox.wait_posted()


async def test_a_cancelled_wait_loses_nothing(autojump_clock: trio.abc.Clock) -> None:
    """What comes after it wakes the next wait."""
    mailbox: Mailbox[int] = Mailbox()
    with trio.move_on_after(1.0) as scope:
        await mailbox.wait_posted()
    assert scope.cancelled_caught
    mailbox.post(1)
    await mailbox.wait_posted()
    assert list(mailbox.take()) == [1]


async def test_a_mailbox_has_one_reader(autojump_clock: trio.abc.Clock) -> None:
    """A second one is our bug."""
    mailbox: Mailbox[int] = Mailbox()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mailbox.wait_posted)
        await wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await mailbox.wait_posted()
        mailbox.post(1)


def test_a_keyed_handle_names_an_actor() -> None:
    """It posts with its key, and is equal to every other of that key and mailbox."""
    mailbox: Mailbox[tuple[object, object]] = Mailbox()
    KeyedHandle(mailbox, "a").post("message")
    assert list(mailbox.take()) == [("a", "message")]
    assert KeyedHandle(mailbox, "a") == KeyedHandle(mailbox, "a")
    assert hash(KeyedHandle(mailbox, "a")) == hash(KeyedHandle(mailbox, "a"))
    assert KeyedHandle(mailbox, "a") != KeyedHandle(mailbox, "b")
    assert KeyedHandle(mailbox, "a") != KeyedHandle(Mailbox(), "a")
