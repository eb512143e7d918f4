"""Between Django's TaskResult and the table of results."""

from datetime import datetime
from typing import Any

from etcdq.django.results.models import StoredResult
from etcdq.django.tasks_api import TaskError, TaskResult, TaskResultStatus, task_of

_SAME = (
    "id",
    "backend",
    "args",
    "kwargs",
    "status",
    "enqueued_at",
    "started_at",
    "last_attempted_at",
    "finished_at",
    "worker_ids",
)
"""Fields that both have, by the same names."""


def add(result: Any) -> None:
    """Keep the result of a task that is about to be put."""
    _row(result).save(force_insert=True)


def save(result: Any) -> None:
    """Keep a result as it is now, also one that is not there (any more)."""
    _row(result).save()


def fail(result_id: str, backend: str, error: Any, now: datetime) -> None:
    """Keep that a task has failed whose function is not there, so that there is no TaskResult."""
    row = StoredResult.objects.filter(id=result_id, backend=backend).first()
    if row is not None and row.status != TaskResultStatus.SUCCESSFUL:
        row.status = TaskResultStatus.FAILED
        row.finished_at = now
        row.errors.append(_error(error))
        row.save()


def remove_unstarted(result_id: str) -> None:
    """Forget the result of a task that could not be put, unless a worker has it after all."""
    StoredResult.objects.filter(id=result_id, status=TaskResultStatus.READY, worker_ids=[]).delete()


def find(result_id: str, backend: str) -> Any | None:
    """Return a result of a backend; None: there is none.

    Raises:
        ImportError, PermanentError: its function is not there any more, or is no task.
    """
    row = StoredResult.objects.filter(id=result_id, backend=backend).first()
    if row is None:
        return None
    task = task_of(row.task).using(
        backend=row.backend,
        queue_name=row.queue_name,
        priority=row.priority,
        run_after=row.run_after,
    )
    result = TaskResult(
        task=task,
        errors=[TaskError(**each) for each in row.errors],
        **{field: getattr(row, field) for field in _SAME if field != "status"},
        status=TaskResultStatus(row.status),
    )
    object.__setattr__(result, "_return_value", row.return_value)
    return result


def _row(result: Any) -> StoredResult:
    task: Any = result.task
    return StoredResult(
        task=task.module_path,
        queue_name=task.queue_name,
        priority=task.priority,
        run_after=task.run_after,
        errors=[_error(each) for each in result.errors],
        return_value=result._return_value,
        **{field: getattr(result, field) for field in _SAME},
    )


def _error(error: Any) -> dict[str, str]:
    return {
        "exception_class_path": error.exception_class_path,
        "traceback": error.traceback,
    }
