"""What an actor is: a core that is stepped by messages and never waits."""

from typing import Any, Protocol

from etcdq.actors.effect import Effect

NEVER_S = float("inf")


class Core(Protocol):
    """The thinking part of one actor.

    A core imports no Trio, clock, socket or source of randomness. Whoever runs it calls `step`
    once per message, `settle` once after the last message of a batch (and whenever a deadline
    has passed), and performs the effects in the order persist, reply, publish.
    """

    def step(self, message: Any, now_s: float) -> list[Effect]:
        """Take one message in; return what should happen because of it, in order."""
        ...

    def settle(self, now_s: float) -> list[Effect]:
        """Do what is due at `now_s` and what is decided once per batch (deliveries)."""
        ...

    def next_deadline_s(self) -> float:
        """Return when `settle` must be called at the latest, `NEVER_S` if nothing is due."""
        ...

    def statistics(self) -> Any:
        """Return a frozen snapshot of counters; metrics and listings read only this."""
        ...
