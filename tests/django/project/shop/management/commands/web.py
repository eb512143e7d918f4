"""A process that enqueues, as a web process would: told what to do by lines of JSON."""

import asyncio
import json
import os
import sys
import threading
import time
from datetime import timedelta
from io import StringIO
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import transaction
from django.utils import timezone

from shop import tasks

WAIT_S = 30.0
LOOK_S = 0.02


class Command(BaseCommand):
    """Answers each line with a line."""

    def handle(self, *arguments: Any, **options: Any) -> None:
        """Do what is said until the input ends."""
        for line in sys.stdin:
            words = json.loads(line)
            try:
                answer: object = getattr(self, words.pop("do"))(**words)
            except Exception as error:
                answer = {"error": f"{type(error).__module__}.{type(error).__name__}: {error}"}
            os.write(1, json.dumps(answer).encode() + b"\n")

    def _task(self, name: str, in_s: int | None = None, **using: Any) -> Any:
        if in_s is not None:
            using["run_after"] = timezone.now() + timedelta(seconds=in_s)
        return getattr(tasks, name).using(**using)

    def enqueue(self, task: str, args: Any = (), **using: Any) -> str:
        """Enqueue, and return the id."""
        return str(self._task(task, **using).enqueue(*args).id)

    def aenqueue(self, task: str, args: Any = ()) -> str:
        """Do the same from a coroutine."""
        return str(asyncio.run(getattr(tasks, task).aenqueue(*args)).id)

    def in_thread(self, task: str, args: Any = ()) -> list[str]:
        """Do the same from threads."""
        found: list[str] = []
        threads = [
            threading.Thread(target=lambda: found.append(self.enqueue(task, args)))
            for _ in range(3)
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return found

    def in_child(self, task: str, args: Any = ()) -> int:
        """Do the same from a forked child; return its exit code."""
        child = os.fork()
        if child == 0:
            try:
                self.enqueue(task, args)
            finally:
                os._exit(0 if sys.exc_info()[0] is None else 1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def in_transaction(
        self, task: str, args: Any, rolled_back: bool, of: str = "default", **using: Any
    ) -> list[Any]:
        """Return how many wait, within a transaction and after it."""
        its_task = self._task(task, **using)
        counts = []
        with transaction.atomic(using=of):
            its_task.enqueue(*args)
            counts.append(self.depth(its_task.backend, its_task.queue_name))
            transaction.set_rollback(rolled_back, using=of)
        counts.append(self.depth(its_task.backend, its_task.queue_name))
        return counts

    def depth(self, backend: str, queue: str) -> Any:
        """Return how many tasks of a queue are ready."""
        its_backend = tasks.add.using(backend=backend).get_backend()
        return its_backend.client.queue_depth(its_backend.tube_options.tube_of(queue))

    def result(self, id: str, backend: str = "default") -> dict[str, Any]:
        """Return a result."""
        found = tasks.add.using(backend=backend).get_backend().get_result(id)
        return {
            "status": found.status.value,
            "value": found.return_value if found.status.value == "SUCCESSFUL" else None,
            "attempts": found.attempts,
            "errors": [each.exception_class_path for each in found.errors],
            "trace": [each.traceback for each in found.errors],
            "times": sum(
                each is not None
                for each in (
                    found.enqueued_at,
                    found.started_at,
                    found.last_attempted_at,
                    found.finished_at,
                )
            ),
            "task": found.task.module_path,
            "args": found.args,
        }

    def refresh(self, task: str, args: Any = ()) -> Any:
        """Enqueue, and look at its result until it is there; return what was returned."""
        result = getattr(tasks, task).enqueue(*args)
        end_s = time.monotonic() + WAIT_S
        while not result.is_finished and time.monotonic() < end_s:
            time.sleep(LOOK_S)
            result.refresh()
        asyncio.run(result.arefresh())
        same = asyncio.run(getattr(tasks, task).aget_result(result.id))
        return [
            result.return_value,
            same.return_value,
            getattr(tasks, task).get_result(result.id).id == result.id,
        ]

    def refresh_other(self, id: str) -> None:
        """Ask a task for the result of another."""
        tasks.add.get_result(id)

    def call(self, command: str, words: list[str]) -> None:
        """Run a command of manage.py in this process."""
        call_command(command, *words, stdout=StringIO())

    def results(self, backend: str) -> int:
        """Return how many results of a backend are kept."""
        from etcdq.django.results.models import StoredResult

        return int(StoredResult.objects.filter(backend=backend).count())

    def facts(self) -> dict[str, Any]:
        """Return what this runs on."""
        backend = tasks.add.get_backend()
        return {
            "backport": settings.USES_BACKPORT,
            "get_result": backend.supports_get_result,
            "others": [backend.supports_defer, backend.supports_priority],
        }
