"""The consumer that runs what a schedule puts."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any

import trio

from etcdq.errors import InvalidArgumentError
from etcdq.schedule.dispatch import DispatchError, resolve
from etcdq.worker import ReservedJob, TubeConsumer


class DispatchConsumer(TubeConsumer):
    """Base of an application's consumer of scheduled jobs: set `tubes` and `allowed`.

    A job runs once: one that failed, or that a worker vanished with, is given up, since the
    schedule puts the next one anyway.
    """

    tries_max = 1
    permanent = (DispatchError,)
    allowed: Mapping[str, Callable[..., Any]] = MappingProxyType({})
    """What bodies may name: classes, on a new instance of which `perform` is called, and functions.
    Both may be async."""

    def process(self, job: ReservedJob) -> None:
        """Run what the body names.

        Raises:
            DispatchError: nothing that is allowed.
        """
        result = resolve(job.body, self.allowed).run()
        if inspect.isawaitable(result):
            trio.from_thread.run(_finish, result)

    def check(self) -> None:
        """See that it can be run.

        Raises:
            InvalidArgumentError: a value is wrong; the text says which.
        """
        super().check()
        whose = type(self).__name__
        if not self.allowed:
            raise InvalidArgumentError(f"{whose}: allowed is empty: no job could be run")
        for name, each in self.allowed.items():
            called = getattr(each, "perform", None) if isinstance(each, type) else each
            if not callable(called):
                raise InvalidArgumentError(f"{whose}: allowed {name!r} has no perform")


async def _finish(result: Awaitable[Any]) -> None:
    await result
