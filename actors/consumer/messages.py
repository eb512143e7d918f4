"""The vocabulary between a consumer's core and the session that hosts it.

From the queue it hears `Offer` and `Superseded`, to the queue it says `Accepted`, `Taken` and
`Ended` (all in `etcdq.actors.queue.messages`).
"""

from etcdq.actors.queue.messages import Delivery, Message, Offer

# messages from the session ------------------------------------------------------------------


class Offered(Message, frozen=True, gc=False):
    """The queue's offer arrived; `room_bytes` of event bytes could be written right now."""

    offer: Offer
    room_bytes: int


class Written(Message, frozen=True, gc=False):
    """A look at the output after a write. Always sent once after the effects of `Offered`,
    also if the queue's `Superseded` comes in between (but not after `WatchGone`).

    `groups` counts the `Deliver` effects that have been written whole since the last look,
    oldest first; `moved` says whether any byte of the next one was written since.
    """

    groups: int
    moved: bool


class WatchGone(Message, frozen=True, gc=False):
    """The watch was cancelled by its client, or its stream or connection ended.

    What was written until then has been told by `Written` before. What was not is withdrawn.
    """


# effects for the session --------------------------------------------------------------------


class Deliver(Message, frozen=True, gc=False):
    """Send these in one response on the watch. Written whole or not counts for all of them."""

    deliveries: tuple[Delivery, ...]


class CancelWatch(Message, frozen=True, gc=False):
    """End the watch: withdraw what was not begun and cancel it with `reason`.

    A response that is half sent cannot be withdrawn: then the stream is reset instead.
    """

    reason: str
