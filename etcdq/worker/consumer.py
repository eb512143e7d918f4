"""What applications write: a class with a `process`, or a function with a decorator."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict, TypeVar, Unpack

from etcdq.beanstalk.commands import WEIGHT_MAX, name, whole
from etcdq.beanstalk.records import ReserveMode
from etcdq.beanstalk.replies import BATCH_MAX
from etcdq.errors import InvalidArgumentError
from etcdq.worker import sentry
from etcdq.worker.failure import RETRY_BASE_S, RETRY_CAP_S, TRIES_MAX, DeadLetter, Rules
from etcdq.worker.job import ReservedJob
from etcdq.worker.statistics import ConsumerStatistics, Counters

GiveUp = Literal["delete", "bury"] | DeadLetter

CONSUMER_OF: str = "__etcdq_consumer__"
"""Attribute by which a decorated function leads to its consumer."""


class TubeConsumer:
    """Base of an application's consumers: set `tubes`, write `process` or `process_batch`.

    Both, and every hook, may be async or plain. A plain one runs in a thread, off the Trio loop;
    its hooks run in that same thread. An exception is a failed run: the job is put off, and tried
    again. A job is deleted when the handler has returned.

    A handler should expect to see a job twice: at least once is what a queue can promise.
    """

    tubes: Sequence[str] | Mapping[str, int] = ()
    """Names, or names with the weights of tuber's weighted modes."""
    reserve_mode: ReserveMode | None = None
    """How the server chooses among the tubes (tuber); others choose the most urgent job."""
    concurrency: int = 1
    """How many handlers run at a time in a process, each with a connection of its own."""
    batch_size: int = 1
    """How many jobs are reserved together, 1 to 1000. `process` gets them one after another."""
    tries_max: int = TRIES_MAX
    """After so many tries a job is given up. A worker that vanished was a try, too."""
    retry_base_s: int = RETRY_BASE_S
    """How long a job is put off after its first failure; half of it is left to chance."""
    retry_cap_s: int = RETRY_CAP_S
    """The delay doubles with each try, up to this."""
    permanent: tuple[type[BaseException], ...] = ()
    """Errors that no retry can mend, beside `PermanentError`: given up at once."""
    give_up: GiveUp = "delete"
    """What becomes of a job that is given up: "delete", "bury" or `DeadLetter(tube)`. A buried one
    keeps its `idp:` key, so puts with that key are absorbed by it until somebody looks."""

    def __init__(self) -> None:
        self.counters = Counters()

    def process(self, job: ReservedJob) -> Any:
        """Do one job."""
        raise NotImplementedError

    def process_batch(self, jobs: list[ReservedJob]) -> Any:
        """Do jobs together. If it raises, each of them is tried again, alone."""
        raise NotImplementedError

    def on_give_up(self, job: ReservedJob, error: BaseException) -> Any:
        """Record what is to be recovered; the job goes after this has returned.

        If it raises, the job stays, and is given up again later.
        """

    def before_batch(self, jobs: list[ReservedJob]) -> Any:
        """Called before each call of the handler, with the jobs it gets."""

    def after_batch(self, jobs: list[ReservedJob]) -> Any:
        """Called after each call of the handler, also one that raised."""

    async def report(self, job: ReservedJob, error: BaseException) -> Any:
        """Tell people of a job that is given up: Sentry, if its SDK is loaded."""
        sentry.tell(type(self).__name__, job, error)

    def statistics(self) -> ConsumerStatistics:
        """Return what it has done so far."""
        return self.counters.snapshot()

    # ----------------------------------------------------------------------------------------

    def takes_batches(self) -> bool:
        """Whether the handler is `process_batch`.

        Raises:
            InvalidArgumentError: it has none, or two.
        """
        cls = type(self)
        batch = cls.process_batch is not TubeConsumer.process_batch
        if batch == (cls.process is not TubeConsumer.process):
            raise InvalidArgumentError(f"{cls.__name__}: write either process or process_batch")
        return batch

    def weights(self) -> dict[str, int | None]:
        """Return the tubes with their weights, in order."""
        if isinstance(self.tubes, Mapping):
            return dict(self.tubes)
        return dict.fromkeys([self.tubes] if isinstance(self.tubes, str) else self.tubes)

    def rules(self) -> Rules:
        """Return when a job is tried again."""
        return Rules(self.tries_max, self.retry_base_s, self.retry_cap_s, self.permanent)

    def check(self) -> None:
        """See that it can be run.

        Raises:
            InvalidArgumentError: a value is wrong; the text says which.
        """
        whose = type(self).__name__
        if not hasattr(self, "counters"):
            raise InvalidArgumentError(f"{whose}: its __init__ is to call super().__init__()")
        self.takes_batches()
        weights = self.weights()
        if not weights:
            raise InvalidArgumentError(f"{whose}: it has no tubes")
        for tube, weight in weights.items():
            name(tube, f"{whose}: tube")
            if weight is not None:
                whole(weight, f"{whose}: weight", at_least=1, at_most=WEIGHT_MAX)
        for attribute, most in _BOUNDS.items():
            whole(getattr(self, attribute), f"{whose}: {attribute}", at_least=1, at_most=most)
        if not isinstance(self.permanent, tuple) or not all(map(_is_error, self.permanent)):
            text = f"{whose}: permanent {self.permanent!r} is no tuple of exception classes"
            raise InvalidArgumentError(text)
        if isinstance(self.give_up, DeadLetter):
            name(self.give_up.tube, f"{whose}: tube")
        elif self.give_up not in ("delete", "bury"):
            raise InvalidArgumentError(f"{whose}: give_up {self.give_up!r} is unknown")


_BOUNDS = {
    "concurrency": 1000,
    "batch_size": BATCH_MAX,
    "tries_max": 1000,
    "retry_base_s": 86_400,
    "retry_cap_s": 2**31,
}


def _is_error(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseException)


class ConsumerOptions(TypedDict, total=False):
    """Attributes of `TubeConsumer` that a decorator may set."""

    reserve_mode: ReserveMode | None
    concurrency: int
    batch_size: int
    tries_max: int
    retry_base_s: int
    retry_cap_s: int
    permanent: tuple[type[BaseException], ...]
    give_up: GiveUp
    on_give_up: Callable[[ReservedJob, BaseException], Any]
    before_batch: Callable[[list[ReservedJob]], Any]
    after_batch: Callable[[list[ReservedJob]], Any]
    report: Callable[[ReservedJob, BaseException], Any]


_HOOKS = ("on_give_up", "before_batch", "after_batch", "report")
F = TypeVar("F", bound=Callable[[Any], Awaitable[None] | None])


def consumer(
    *tubes: str, together: bool = False, **options: Unpack[ConsumerOptions]
) -> Callable[[F], F]:
    """Make a consumer of a function: `@consumer("mail", concurrency=4)`.

    The function stays what it was, so that a test can call it.

    Args:
        tubes: their names.
        together: the function takes a list of jobs.
        options: as the attributes of `TubeConsumer` of the same names.

    Raises:
        InvalidArgumentError: a value is wrong.
    """

    def decorate(function: F) -> F:
        attributes: dict[str, Any] = {
            key: staticmethod(value) if key in _HOOKS else value  # type: ignore[arg-type]
            for key, value in options.items()
        }
        attributes |= {
            "__doc__": inspect.getdoc(function),
            "__module__": function.__module__,
            "tubes": tubes,
            "process_batch" if together else "process": staticmethod(function),
        }
        made: type[TubeConsumer] = type(function.__name__, (TubeConsumer,), attributes)
        made().check()
        setattr(function, CONSUMER_OF, made)
        return function

    return decorate
