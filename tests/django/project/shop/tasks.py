"""Its tasks. What they do is seen on the standard output of their worker."""

import asyncio
import os
import signal
import threading
from typing import Any

from django.conf import settings
from django.db import connections
from django.dispatch import receiver

from etcdq import PermanentError

if settings.USES_BACKPORT:
    from django_tasks import task
    from django_tasks.signals import task_enqueued, task_finished, task_started
else:
    from django.tasks import task
    from django.tasks.signals import task_enqueued, task_finished, task_started


def say(*words: object) -> None:
    """Print a line, whole."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


@task
def add(first: int, second: int) -> int:
    """Return something."""
    say("add", first, second)
    return first + second


@task(queue_name="mail", priority=10)
async def send(to: str) -> dict[str, str]:
    """Be async."""
    await asyncio.sleep(0)
    say("send", to)
    return {"to": to}


@task(takes_context=True)
def tell(context: Any, word: str) -> int:
    """Say which try this is; fail in the first one."""
    say("tell", word, context.attempt, context.task_result.id)
    if context.attempt == 1:
        raise ValueError(word)
    return int(context.attempt)


@task
def fail(word: str) -> None:
    """Fail, and not for this time only."""
    raise PermanentError(word)


@task
def no_json() -> object:
    """Return what JSON has no words for."""
    return object()


@task(takes_context=True)
def kill(context: Any) -> None:
    """End the process that runs it, the first time."""
    say("kill", context.attempt, os.getpid())
    if context.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)


@task
def look_at_connection() -> list[object]:
    """Return which thread this is, and whether it had a connection; leave one open."""
    had_one = connections["other"].connection is not None
    with connections["other"].cursor() as cursor:
        cursor.execute("SELECT 1")
    return [threading.get_ident(), had_one]


@task(queue_name="bulk")
def chain(count: int) -> None:
    """Enqueue the next one."""
    say("chain", count)
    if count:
        chain.enqueue(count - 1)


def no_task() -> None:
    """Nobody has decorated it."""


@receiver(task_enqueued)
def tell_enqueued(task_result: Any, **_: object) -> None:
    """Say so, in the process that enqueues."""
    if os.environ.get("PROJECT_TELLS"):
        say("enqueued", task_result.task.name)


@receiver(task_started)
def tell_started(task_result: Any, **_: object) -> None:
    """Say so, in the worker."""
    say("started", task_result.task.name, task_result.attempts)


@receiver(task_finished)
def tell_finished(task_result: Any, **_: object) -> None:
    """Say so, in the worker."""
    say("finished", task_result.task.name, task_result.status.value)
