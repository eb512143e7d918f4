"""The mailbox of an actor: many posters, one reader, an append and at most one reschedule.

Trio shell.
"""

from collections import deque
from typing import Any, Generic, TypeVar

import trio

T = TypeVar("T")


class Mailbox(Generic[T]):
    """What was posted and not yet drained, in order.

    A post never blocks. What can pile up is bounded where it enters: streams per connection,
    bytes per connection, credit per consumer (see `limits.py`).

    `posted` is that, to be looked at only.
    """

    __slots__ = ("_held", "_reader", "posted")

    def __init__(self) -> None:
        self.posted: deque[T] = deque()
        self._reader: trio.lowlevel.Task | None = None
        self._held = False

    def __len__(self) -> int:
        return len(self.posted)

    def post(self, item: T) -> None:
        """Append `item` and wake the reader if it waits."""
        self.posted.append(item)
        if self._reader is not None and not self._held:
            self.wake()

    def wake(self) -> None:
        """Let the reader go on if it waits, whether or not there is something to take."""
        reader = self._reader
        if reader is not None:
            self._reader = None
            trio.lowlevel.reschedule(reader)

    def hold(self) -> None:
        """Let posts wake nobody until `release`: who posts takes them out again himself."""
        self._held = True

    def release(self) -> None:
        """End `hold`; what nobody took wakes the reader."""
        self._held = False
        if self.posted:
            self.wake()

    def take(self) -> deque[T]:
        """Return everything posted so far, in order, and leave the mailbox empty."""
        items = self.posted
        if items:
            self.posted = deque()
        return items

    def close(self) -> None:
        """Drop what was posted, and whatever will be: nobody reads here any more.

        What is posted often names the mailbox it is a reply to, and no garbage collector sees
        that circle: messages are not tracked.
        """
        self.posted = deque(maxlen=0)

    async def wait_posted(self) -> None:
        """Wait until there is something to take; always a checkpoint."""
        if self.posted:
            await trio.lowlevel.checkpoint()
            return
        if self._reader is not None:
            raise trio.BusyResourceError("a mailbox has one reader")
        self._reader = trio.lowlevel.current_task()

        def abort(_: Any) -> trio.lowlevel.Abort:
            self._reader = None
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)


class KeyedHandle:
    """A handle to one of the many actors that share a mailbox, by its key."""

    __slots__ = ("key", "mailbox")

    def __init__(self, mailbox: Mailbox[tuple[Any, Any]], key: Any) -> None:
        self.mailbox = mailbox
        self.key = key

    def post(self, message: Any) -> None:
        """Post `message` to the actor named by the key; it is born if it is not there."""
        self.mailbox.post((self.key, message))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, KeyedHandle)
            and self.mailbox is other.mailbox
            and self.key == other.key
        )

    def __hash__(self) -> int:
        return hash((id(self.mailbox), self.key))
