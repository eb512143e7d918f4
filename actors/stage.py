"""Many cores behind one mailbox, stepped batch by batch. No Trio here: the simulation uses it too.

An actor is named by its key and is born by its first message, so whoever posts holds a name and
never the actor. An idle core costs its own memory and no task.

What a core of the stage tells another one of it is stepped in the same batch, before the next
message: a question among them is answered before anybody else has a say, and a client's command
finds all that the one before it has caused.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from etcdq.actors.core import NEVER_S, Core
from etcdq.actors.effect import Effect, Log, Persist, Reply, Stop, Tell
from etcdq.actors.errors import CoreFault

Messages = deque[tuple[Any, Any]]
"""Keys and messages, in order."""


class Outcome:
    """What one batch wants done, sorted into the order in which it is performed."""

    __slots__ = ("logs", "persists", "publications", "replies")

    def __init__(self) -> None:
        self.persists: list[Any] = []
        self.replies: list[Reply] = []
        self.publications: list[Effect] = []
        self.logs: list[Log] = []

    def add(self, effect: Any) -> None:
        """Sort `effect` in, behind those of its class."""
        kind = type(effect)
        if kind is Reply:
            self.replies.append(effect)
        elif kind is Persist:
            self.persists.append(effect.record)
        elif kind is Log:
            self.logs.append(effect)
        else:
            self.publications.append(effect)


class Stage:
    """The cores that share a mailbox.

    Args:
        birth: makes the core for a key that has none.

    Attributes:
        home: the mailbox: what is told to a handle of it stays in the batch.
    """

    def __init__(self, birth: Callable[[Any], Core]) -> None:
        self._birth = birth
        self.home: object = object()
        self.cores: dict[Any, Core] = {}
        self._due: list[tuple[float, int, Any]] = []
        self._scheduled_s: dict[Any, list[float]] = {}
        """The deadlines of each key that are in the heap, the next one last."""
        self._ticket = 0
        self.aliases: Callable[[Any], Any] | None = None
        """Finds the key behind a key that has no core, such as the queue of a job's id; None if
        that is nobody's."""

    def run(self, batch: Iterable[tuple[Any, Any]], now_s: float) -> Outcome:
        """Step every message, settle every core that was touched or is due.

        Raises:
            CoreFault: a core raised; the stage must not be used any further.
        """
        outcome = Outcome()
        messages: Messages = batch if type(batch) is deque else deque(batch)
        touched: dict[Any, Core] = {}
        if self._due and self._due[0][0] <= now_s:
            self._add_due(touched, now_s)
        while True:
            self._step(messages, now_s, outcome, touched)
            self._settle(messages, now_s, outcome, touched)
            if not messages:
                return outcome
            touched = {}

    def next_deadline_s(self) -> float:
        """Return when `run` must be called at the latest, even with an empty batch."""
        return self._due[0][0] if self._due else NEVER_S

    def _step(
        self, messages: Messages, now_s: float, outcome: Outcome, touched: dict[Any, Core]
    ) -> None:
        """Step every message, and those that this tells cores of the stage."""
        cores = self.cores
        replies = outcome.replies
        told: list[tuple[Any, Any]] = []
        key: Any = None
        message: Any = None
        try:
            while messages:
                key, message = messages.popleft()
                core = touched.get(key)
                if core is None:
                    core = cores.get(key)
                    if core is None:
                        key, core = self._find(key)
                    touched[key] = core
                for effect in core.step(message, now_s):
                    if type(effect) is Reply:
                        replies.append(effect)  # nearly always: spare it the call
                    else:
                        self._take(effect, outcome, told)
                if told:
                    messages.extendleft(reversed(told))
                    told.clear()
        except Exception as error:  # whatever it is, it is our bug, told with what caused it
            raise CoreFault(key, message) from error

    def _settle(
        self, messages: Messages, now_s: float, outcome: Outcome, touched: dict[Any, Core]
    ) -> None:
        key: Any = None
        try:
            for key, core in touched.items():
                effects = core.settle(now_s)
                if effects:
                    if type(effects[-1]) is Stop:
                        effects.pop()
                        del self.cores[key]
                    for effect in effects:
                        self._take(effect, outcome, messages)
                self._schedule(key, core)
        except Exception as error:  # as above
            raise CoreFault(key, "settle") from error

    def _take(self, effect: Any, outcome: Outcome, told: Messages | list[tuple[Any, Any]]) -> None:
        if type(effect) is Tell and getattr(effect.handle, "mailbox", None) is self.home:
            told.append((effect.handle.key, effect.message))  # type: ignore[attr-defined]
        else:
            outcome.add(effect)

    def _find(self, key: Any) -> tuple[Any, Core]:
        """Return the key behind an alias, and its core; born if there is none.

        An alias of nobody gets a core for one message, since it may name somebody at the next.
        """
        if self.aliases is not None:
            known = self.aliases(key)
            if known is None:
                return None, self._birth(key)
            key = known
        core = self.cores.get(key)
        if core is None:
            core = self.cores[key] = self._birth(key)
        return key, core

    def _add_due(self, touched: dict[Any, Core], now_s: float) -> None:
        while self._due and self._due[0][0] <= now_s:
            _, _, key = heapq.heappop(self._due)
            scheduled_s = self._scheduled_s[key]
            scheduled_s.pop()
            if not scheduled_s:
                del self._scheduled_s[key]
            core = self.cores.get(key)
            if core is not None:
                touched[key] = core

    def _schedule(self, key: Any, core: Core) -> None:
        # A deadline that moved later is left in the heap: when it comes, settle finds nothing
        # due and the core is scheduled anew. So a busy core costs no heap operation per batch.
        deadline_s = core.next_deadline_s()
        scheduled_s = self._scheduled_s.get(key)
        if scheduled_s is None:
            if deadline_s == NEVER_S or key not in self.cores:
                return
            scheduled_s = self._scheduled_s[key] = []
        elif deadline_s >= scheduled_s[-1] or key not in self.cores:
            return
        scheduled_s.append(deadline_s)
        self._ticket += 1
        heapq.heappush(self._due, (deadline_s, self._ticket, key))
