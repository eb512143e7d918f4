"""A core's script: what it is told, and everything it wants done about it.

    book = Playbook(core)
    book >> message >> another << [effect, effect]
    book.at(5.0) << []

`>>` steps the core. `<<` ends the batch: the core settles, and all effects since the last `<<`
must be exactly those given, in order. `at` sets the clock first.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from etcdq.actors.core import Core


@dataclass(frozen=True)
class Named:
    """A handle that is equal to every other of its name and drops what is posted to it."""

    name: str

    def post(self, message: Any) -> None:
        """Drop the message: a playbook looks at effects."""


class Playbook:
    """Drives one core; see the top of this file."""

    def __init__(self, core: Core, now_s: float = 0.0) -> None:
        self.core = core
        self.now_s = now_s
        self._effects: list[Any] = []

    def at(self, now_s: float) -> "Playbook":
        """Set the clock."""
        assert now_s >= self.now_s, "time does not run backwards"
        self.now_s = now_s
        return self

    def __rshift__(self, message: Any) -> "Playbook":
        self._effects += self.core.step(message, self.now_s)
        return self

    def __lshift__(self, expected: Any) -> "Playbook":
        wanted = list(expected) if isinstance(expected, Sequence) else [expected]
        seen = self.end_batch()
        if seen != wanted:
            diff = difflib.ndiff([repr(e) for e in wanted], [repr(e) for e in seen])
            raise AssertionError("expected (-) and seen (+) effects differ:\n" + "\n".join(diff))
        return self

    def end_batch(self) -> list[Any]:
        """Settle; return all effects since the last batch ended."""
        effects = self._effects + self.core.settle(self.now_s)
        self._effects = []
        return effects
