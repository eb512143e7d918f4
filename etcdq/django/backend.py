"""The backend: what is enqueued is put into a tube, by a client that all threads share."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from math import ceil
from typing import Any

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, transaction
from django.utils import timezone
from django.utils.crypto import get_random_string

from etcdq.beanstalk.blocking import BlockingClient
from etcdq.beanstalk.commands import NUMBER_MAX, PRIORITY, PutOptions
from etcdq.django.envelope import Envelope, write
from etcdq.django.options import read_options
from etcdq.django.tasks_api import (
    BaseTaskBackend,
    InvalidTask,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_enqueued,
)
from etcdq.errors import InvalidArgumentError, UnsupportedError

RESULTS_APP = "etcdq.django.results"

_CLIENTS: dict[tuple[str | None, float], BlockingClient] = {}
"""One for each address: Django makes a backend per thread, or per request."""


class TubeBackend(BaseTaskBackend):
    """`"etcdq.django.TubeBackend"` of settings.TASKS.

    Args:
        alias: its name there.
        params: its entry there.

    Raises:
        ImproperlyConfigured: the entry is wrong; the text says how.
    """

    supports_defer = True
    supports_async_task = True
    supports_priority = True

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        super().__init__(alias, params)
        try:
            self.tube_options = read_options(self.options, self.queues)
        except InvalidArgumentError as error:
            raise ImproperlyConfigured(f"TASKS[{alias!r}]: {error.text}") from error
        if self.tube_options.database not in connections.settings:
            raise ImproperlyConfigured(
                f"TASKS[{alias!r}]: there is no database {self.tube_options.database!r}"
            )
        self.enqueue_on_commit = params.get("ENQUEUE_ON_COMMIT", True)

    @property
    def supports_get_result(self) -> bool:
        """Whether results are kept: in the database, by the app `etcdq.django.results`."""
        return bool(apps.is_installed(RESULTS_APP))

    @property
    def client(self) -> BlockingClient:
        """The client by which it puts; it also tells depths, and whether the server is there."""
        key = self.tube_options.address, self.tube_options.timeout_s
        found = _CLIENTS.get(key)
        if found is None:
            # Threads that get here together use one of theirs; none is connected yet.
            found = _CLIENTS.setdefault(key, BlockingClient(key[0], timeout_s=key[1]))
        return found

    def validate_task(self, task: Any) -> None:
        """See that a task can be enqueued.

        Raises:
            InvalidTask: it cannot; the text says why.
        """
        super().validate_task(task)
        try:
            self.tube_options.tube_of(task.queue_name)
        except InvalidArgumentError as error:
            raise InvalidTask(error.text) from error

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        """Put a task into its tube; within a transaction, when that commits.

        Raises:
            InvalidTask: it cannot be enqueued.
            TypeError, ValueError: an argument that JSON has no words for.
            EtcdqError: see `BlockingClient.put`; within a transaction, from its commit.
        """
        self.validate_task(task)
        result = TaskResult(
            task=task,
            id=get_random_string(32),
            status=TaskResultStatus.READY,
            enqueued_at=timezone.now(),
            started_at=None,
            finished_at=None,
            last_attempted_at=None,
            args=args,
            kwargs=kwargs,
            backend=self.alias,
            errors=[],
            worker_ids=[],
        )
        body = write(
            Envelope(
                id=result.id,
                task=task.module_path,
                args=result.args,
                kwargs=result.kwargs,
                queue_name=task.queue_name,
                priority=task.priority,
                run_after=task.run_after,
                enqueued_at=result.enqueued_at,
            )
        )
        if self.supports_get_result:
            from etcdq.django.results import store

            store.add(result)
        alias = self.tube_options.database
        if self.enqueue_on_commit and connections[alias].in_atomic_block:
            transaction.on_commit(partial(self._put, result, body), using=alias)
        else:
            self._put(result, body)
        return result

    def get_result(self, result_id: str) -> Any:
        """Return a result as it is now.

        Raises:
            TaskResultDoesNotExist: there is none, or it was deleted.
            NotImplementedError: none are kept.
        """
        if not self.supports_get_result:
            return super().get_result(result_id)
        from etcdq.django.results import store

        found = store.find(result_id, self.alias)
        if found is None:
            raise TaskResultDoesNotExist(result_id)
        return found

    def _put(self, result: Any, body: bytes) -> None:
        task = result.task
        options: PutOptions = {
            "priority": PRIORITY - int(task.priority),
            "delay_s": _delay_s(task.run_after),
            "ttr_s": self.tube_options.ttr_s,
        }
        tube = self.tube_options.tube_of(task.queue_name)
        try:
            try:
                # By its id a task is there once, also when the answer to a put was lost.
                self.client.put(tube, body, **{**options, "idp": result.id})
            except UnsupportedError:  # a plain beanstalkd
                self.client.put(tube, body, **options)
        except BaseException:
            if self.supports_get_result:
                from etcdq.django.results import store

                store.remove_unstarted(result.id)
            raise
        task_enqueued.send(type(self), task_result=result)


def _delay_s(run_after: datetime | None) -> int:
    """Return for how many seconds a task is put off: rather longer than shorter."""
    if run_after is None:
        return 0
    left_s = (run_after - datetime.now(run_after.tzinfo)).total_seconds()
    return min(NUMBER_MAX, max(0, ceil(left_s)))
