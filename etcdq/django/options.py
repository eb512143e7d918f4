"""OPTIONS of a backend: what they may be, and what they mean. Without Django."""

from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from etcdq.beanstalk.address import choose_address
from etcdq.beanstalk.blocking import TIMEOUT_S
from etcdq.beanstalk.commands import TTR_S, name, whole
from etcdq.errors import InvalidArgumentError
from etcdq.worker.consumer import GiveUp
from etcdq.worker.failure import RETRY_BASE_S, RETRY_CAP_S, TRIES_MAX, DeadLetter

QUEUE: Final = "{queue}"
"""Stands for the name of the queue in `tube`."""


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """OPTIONS in settings.TASKS."""

    address: str | None = None
    """Of the server; None: what the environment says when it is needed."""
    tube: str | dict[str, str] = f"django.{QUEUE}"
    """Of each queue: one for all, one each with `{queue}` in it, or a mapping of queue to tube."""
    timeout_s: float = TIMEOUT_S
    """How long an enqueue may take."""
    ttr_s: int = TTR_S
    """After so many seconds without a word of its worker a task goes to another one."""
    tries_max: int = TRIES_MAX
    retry_base_s: int = RETRY_BASE_S
    retry_cap_s: int = RETRY_CAP_S
    give_up: Any = "delete"
    """As of a `TubeConsumer`: "delete", "bury", `DeadLetter(tube)`; also {"dead_letter": tube}."""
    database: str = "default"
    """The alias whose transactions an enqueue waits for."""

    def tube_of(self, queue: str) -> str:
        """Return the tube of a queue.

        Raises:
            InvalidArgumentError: it has none, or its name is none for a tube.
        """
        if isinstance(self.tube, str):
            return name(self.tube.replace(QUEUE, queue), f"tube of queue {queue!r}:")
        if queue not in self.tube:
            raise InvalidArgumentError(f"tube: there is none for queue {queue!r}")
        return name(self.tube[queue], f"tube of queue {queue!r}:")

    def tubes_of(self, queues: Collection[str], wanted: Collection[str]) -> list[str]:
        """Return the tubes that are to be worked off for some of the queues.

        Args:
            queues: of the backend; empty: any name is one.
            wanted: of these; empty: all of them.

        Raises:
            InvalidArgumentError: they cannot be told from those that are not wanted.
        """
        known = sorted(queues) or (sorted(self.tube) if isinstance(self.tube, dict) else [])
        if known and (unknown := sorted(set(wanted) - set(known))):
            raise InvalidArgumentError(
                f"there is no queue {unknown[0]!r} in QUEUES, but {', '.join(known)}"
            )
        chosen = sorted(wanted) or known
        if not chosen and isinstance(self.tube, str):
            if QUEUE in self.tube:
                raise InvalidArgumentError("QUEUES is empty: say which queues to work off")
            return [name(self.tube)]
        tubes = {self.tube_of(queue): queue for queue in chosen}
        for other in set(known) - set(chosen):
            tube = self.tube_of(other)
            if tube in tubes:
                raise InvalidArgumentError(
                    f"queue {other!r} shares the tube {tube} with queue {tubes[tube]!r}:"
                    " work off both or neither"
                )
        return list(tubes)

    def how_to_give_up(self) -> GiveUp:
        """Return what becomes of a task that is given up, as a consumer says it."""
        if isinstance(self.give_up, Mapping):
            return DeadLetter(self.give_up["dead_letter"])
        choice: GiveUp = self.give_up
        return choice


def read_options(given: Mapping[str, Any], queues: Collection[str]) -> Options:
    """Read OPTIONS.

    Args:
        given: from the settings.
        queues: of the backend.

    Raises:
        InvalidArgumentError: a value is wrong; the text says which.
    """
    try:
        options = msgspec.convert(dict(given), Options)
    except msgspec.ValidationError as error:
        raise InvalidArgumentError(f"OPTIONS: {error}") from error
    if options.address is not None:
        choose_address(options.address)
    for queue in queues:
        options.tube_of(queue)
    if isinstance(options.tube, dict):
        for queue in options.tube:
            options.tube_of(queue)
    if options.timeout_s <= 0:
        raise InvalidArgumentError(f"timeout_s {options.timeout_s} is not above 0")
    for each in ("ttr_s", "tries_max", "retry_base_s", "retry_cap_s"):
        whole(getattr(options, each), each, at_least=1)
    _check_give_up(options.give_up)
    return options


def _check_give_up(choice: Any) -> None:
    if isinstance(choice, Mapping) and choice.keys() == {"dead_letter"}:
        choice = DeadLetter(choice["dead_letter"])
    if isinstance(choice, DeadLetter):
        name(choice.tube, "give_up: tube")
    elif choice not in ("delete", "bury"):
        raise InvalidArgumentError(f"give_up {choice!r} is unknown")
