"""Where messages go: handles and addresses."""

from typing import Any, Protocol

import msgspec


class Handle(Protocol):
    """A cheap, typed way to reach an actor: by name, never the actor itself."""

    def post(self, message: Any) -> None:
        """Put a message into the actor's mailbox; never blocks, never fails."""
        ...


class Address(msgspec.Struct, frozen=True, gc=False):
    """An actor's handle and the tag by which that actor knows the matter (a stream, a watch)."""

    handle: Handle
    tag: Any
