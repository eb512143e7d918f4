"""Django's Tasks, or their official backport: the same names from the one that the project uses.

A project uses the backport if it has it among its INSTALLED_APPS, or if its Django has no Tasks.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from django.conf import settings
from django.utils.module_loading import import_string

from etcdq.worker.failure import PermanentError

BACKPORT: Final = "django_tasks"
BUILT_IN: Final = "django.tasks"


def _choose() -> str:
    apps = [str(app).partition(".")[0] for app in settings.INSTALLED_APPS]
    return BACKPORT if BACKPORT in apps or find_spec(BUILT_IN) is None else BUILT_IN


WHICH: Final = _choose()

_base: Any = import_module(f"{WHICH}.base")
_exceptions: Any = import_module(f"{WHICH}.exceptions")
_signals: Any = import_module(f"{WHICH}.signals")
_json: Any = import_module("django_tasks.utils" if WHICH == BACKPORT else "django.utils.json")

BaseTaskBackend: Any = import_module(f"{WHICH}.backends.base").BaseTaskBackend
Task: Any = _base.Task
TaskContext: Any = _base.TaskContext
TaskError: Any = _base.TaskError
TaskResult: Any = _base.TaskResult
TaskResultStatus: Any = _base.TaskResultStatus
TaskResultDoesNotExist: Any = _exceptions.TaskResultDoesNotExist
InvalidTask: Any = getattr(_exceptions, "InvalidTask", None) or _exceptions.InvalidTaskError
normalize_json: Any = _json.normalize_json
task_backends: Any = import_module(WHICH).task_backends
task_enqueued: Any = _signals.task_enqueued
task_started: Any = _signals.task_started
task_finished: Any = _signals.task_finished


def task_of(path: str) -> Any:
    """Return the task that a path leads to: what was decorated, and nothing else.

    Args:
        path: module, dot, name.

    Raises:
        ImportError: there is nothing. The worker may be of an older release than who enqueued it.
        PermanentError: it is no task.
    """
    try:
        found = import_string(path)
    except ValueError as error:  # a module's name that is empty
        raise PermanentError(f"{path!r} is no path of a task") from error
    if not isinstance(found, Task):
        raise PermanentError(f"{path!r} is no task")
    return found
