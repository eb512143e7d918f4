"""What a core may want done. Performed in one fixed order: persist, reply, publish.

Replies and publications of one batch are performed without a checkpoint between them: what a
caller was told is visible to whoever asks next.
"""

from typing import Any

import msgspec

from etcdq.actors.message import Address, Handle


class Persist(msgspec.Struct, frozen=True, gc=False):
    """Write `record` to the store before any reply of this batch leaves."""

    record: Any


class Reply(msgspec.Struct, frozen=True, gc=False):
    """Answer one request. Posted as it is, so `to.tag` tells the asker which request it was.

    `value` is a reply of the vocabulary, or an `EtcdqError` (not raised, only carried).
    """

    to: Address
    value: Any


class Tell(msgspec.Struct, frozen=True, gc=False):
    """Post `message` to another actor."""

    handle: Handle
    message: Any


class Publish(msgspec.Struct, frozen=True, gc=False):
    """Put `value` on the node's board under `topic`, for everyone to read without asking."""

    topic: str
    value: Any


class Log(msgspec.Struct, frozen=True, gc=False):
    """Write one log line; `level` is a structlog method name."""

    level: str
    event: str
    fields: dict[str, Any]


class Stop(msgspec.Struct, frozen=True, gc=False):
    """This core is no longer needed; only `settle` may ask for it.

    The next message to its key gives birth to a fresh one.
    """


Effect = Persist | Reply | Tell | Publish | Log | Stop | Any
"""One of the above, or an effect of a core's own vocabulary that its host performs itself."""
