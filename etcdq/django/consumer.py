"""Runs tasks: what a worker does with the jobs of a backend's tubes."""

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from traceback import format_exception
from typing import Any, Final

from django.db import close_old_connections
from django.utils import timezone

from etcdq.django import envelope
from etcdq.django.backend import TubeBackend
from etcdq.django.envelope import Envelope
from etcdq.django.tasks_api import (
    InvalidTask,
    TaskContext,
    TaskError,
    TaskResult,
    TaskResultStatus,
    normalize_json,
    task_finished,
    task_of,
    task_started,
)
from etcdq.worker.consumer import TubeConsumer
from etcdq.worker.failure import PermanentError
from etcdq.worker.job import ReservedJob

UNKNOWN_WORKER: Final = "unknown"
"""Where results are not kept, nobody remembers who had the earlier tries."""
_NOTED: Final = "_etcdq_noted"
"""Attribute of an error that stands in its result already."""


class TaskConsumer(TubeConsumer):
    """Runs tasks in threads, each with its own connections to the databases.

    Args:
        backend: whose tasks.
        tubes: where they are.
        concurrency: how many run at a time.
        batch_size: how many are reserved together, to be run one after another.
    """

    def __init__(
        self,
        backend: TubeBackend,
        tubes: Sequence[str],
        concurrency: int = 1,
        batch_size: int = 1,
    ) -> None:
        super().__init__()
        options = backend.tube_options
        self._backend = backend
        self._worker_id = f"{socket.gethostname()}:{os.getpid()}"[-64:]
        self.tubes = tubes
        self.concurrency = concurrency
        self.batch_size = batch_size
        self.tries_max = options.tries_max
        self.retry_base_s = options.retry_base_s
        self.retry_cap_s = options.retry_cap_s
        self.give_up = options.how_to_give_up()

    def before_batch(self, jobs: list[ReservedJob]) -> None:
        """Close what the database may have closed meanwhile, as before a request."""
        close_old_connections()

    def after_batch(self, jobs: list[ReservedJob]) -> None:
        """Close what is not to be kept (CONN_MAX_AGE), as after a request."""
        close_old_connections()

    def process(self, job: ReservedJob) -> None:
        """Run a task once; one whose result tells that it is done, not again.

        Raises:
            PermanentError: no retry can mend this.
            BaseException: whatever the task raises.
        """
        result = self._result(envelope.read(job.body), job)
        if result.status == TaskResultStatus.SUCCESSFUL:
            return  # its worker vanished before the job was deleted
        now = timezone.now()
        _change(result, status=TaskResultStatus.RUNNING, last_attempted_at=now)
        if result.started_at is None:
            _change(result, started_at=now)
        self._keep(result)
        # A receiver that fails is logged: it is no reason to run a task again.
        task_started.send_robust(type(self._backend), task_result=result)
        try:
            value = _call(result)
        except BaseException as error:
            result.errors.append(_described(error))
            _change(result, status=TaskResultStatus.READY)  # to be run again
            close_old_connections()  # the task may have failed with its connection
            self._keep(result)
            with suppress(AttributeError, TypeError):
                setattr(error, _NOTED, True)
            raise
        _change(result, status=TaskResultStatus.SUCCESSFUL, finished_at=timezone.now())
        _change(result, _return_value=value)
        self._keep(result)
        task_finished.send_robust(type(self._backend), task_result=result)

    def on_give_up(self, job: ReservedJob, error: BaseException) -> None:
        """Keep the failure, and tell of it: Django's `task_finished`."""
        try:
            sent = envelope.read(job.body)
        except PermanentError:
            return  # nobody has enqueued it
        try:
            result = self._result(sent, job)
        except (ImportError, PermanentError, InvalidTask):
            self._keep_failure(sent, error)  # without its task there is no more to be told
            return
        if result.status == TaskResultStatus.SUCCESSFUL:
            return
        if not getattr(error, _NOTED, False):
            result.errors.append(_described(error))
        _change(result, status=TaskResultStatus.FAILED, finished_at=timezone.now())
        self._keep(result)
        try:
            raise error  # Django's own receiver logs the exception that is being handled
        except BaseException as raised:
            if raised is not error:
                raise
            # A receiver that fails keeps the job: what it would have recorded is not lost.
            task_finished.send(type(self._backend), task_result=result)

    def _result(self, sent: Envelope, job: ReservedJob) -> Any:
        """Return the result of a task at this try.

        Raises:
            ImportError: the task is not there.
            PermanentError: it is no task.
            InvalidTask: the backend does not take it.
        """
        alias = self._backend.alias
        known = None
        if self._backend.supports_get_result:
            from etcdq.django.results import store

            known = store.find(sent.id, alias)
        task = task_of(sent.task).using(
            backend=alias,
            queue_name=sent.queue_name,
            priority=sent.priority,
            run_after=sent.run_after,
        )
        before = [] if known is None else known.worker_ids
        before = (before + [UNKNOWN_WORKER] * job.tries)[: job.tries]
        return TaskResult(
            task=task,
            id=sent.id,
            status=TaskResultStatus.READY if known is None else known.status,
            enqueued_at=sent.enqueued_at,
            started_at=None if known is None else known.started_at,
            last_attempted_at=None if known is None else known.last_attempted_at,
            finished_at=None,
            args=sent.args,
            kwargs=sent.kwargs,
            backend=alias,
            errors=[] if known is None else known.errors,
            worker_ids=[*before, self._worker_id],
        )

    def _keep(self, result: Any) -> None:
        if self._backend.supports_get_result:
            from etcdq.django.results import store

            store.save(result)

    def _keep_failure(self, sent: Envelope, error: BaseException) -> None:
        if self._backend.supports_get_result:
            from etcdq.django.results import store

            store.fail(sent.id, self._backend.alias, _described(error), timezone.now())


def _call(result: Any) -> Any:
    """Run a task; return what it returns, as JSON has it.

    Raises:
        PermanentError: JSON has no words for it.
    """
    task = result.task
    context = [TaskContext(task_result=result)] if task.takes_context else []
    returned = task.call(*context, *result.args, **result.kwargs)
    try:
        return normalize_json(returned)
    except (TypeError, ValueError) as error:
        raise PermanentError(f"what {task.module_path} returned is not JSON: {error}") from error


def _described(error: BaseException) -> Any:
    kind = type(error)
    return TaskError(
        exception_class_path=f"{kind.__module__}.{kind.__qualname__}",
        traceback="".join(format_exception(error)),
    )


def _change(result: Any, **fields: Any) -> None:
    """Set fields: to users, results do not change."""
    for name, value in fields.items():
        object.__setattr__(result, name, value)
