"""`manage.py etcdq_worker`: run the tasks of a backend."""

import argparse
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from etcdq.django.backend import TubeBackend
from etcdq.django.consumer import TaskConsumer
from etcdq.django.tasks_api import task_backends
from etcdq.errors import InvalidArgumentError
from etcdq.worker.launch import Launch, read_probe, read_seconds, set_up_logs
from etcdq.worker.link import Server

EXIT_USAGE = 2

T = TypeVar("T")


class Command(BaseCommand):
    """Options and exit codes are those of `etcdq worker`."""

    help = (
        "Run the tasks of a backend of settings.TASKS. SIGTERM or SIGINT: nothing more is reserved,"
        " what has not started is handed back, what runs has --grace to end; a second signal hands"
        " back what runs, and ends now. Exit codes: 0 stopped by a signal and all finished, 1 the"
        " server could not be reached or used, 2 wrong usage, 3 a process kept dying, 4 the grace"
        " was over before all had finished, 130 or 143 a second signal."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Say which options there are."""
        add = parser.add_argument
        add("--backend", default="default", metavar="ALIAS", help='in TASKS, "default" if not said')
        add(
            "--queue",
            action="append",
            default=[],
            metavar="NAME",
            help="of QUEUES; may be said several times. All if not said",
        )
        add(
            "--concurrency",
            type=_positive,
            default=1,
            help="tasks that run at a time in a process, 1",
        )
        add(
            "--batch-size",
            type=_positive,
            default=1,
            metavar="N",
            help="tasks that are reserved together, and run one after another: less to and fro for"
            " short ones; 1",
        )
        add("--processes", type=_positive, default=1, help="each with all of these queues, 1")
        add("--grace", type=_read(read_seconds), default=30.0, metavar="30s", help="30s")
        add(
            "--connect-tries",
            type=_positive,
            metavar="N",
            help="give up after so many attempts to connect in a row; never if not said",
        )
        add(
            "--health",
            type=_read(read_probe),
            metavar="[HOST:]PORT",
            help="answer /live, /ready and /metrics there; each further process, one port higher",
        )
        add("--reload", action="store_true", help="begin anew when a Python file here changes")
        add("--child", action="store_true", help=argparse.SUPPRESS)

    def handle(self, *arguments: Any, **options: Any) -> None:
        """Run until a signal."""
        set_up_logs()
        connections.close_all()  # what the system checks opened; tasks have connections of theirs
        launch = Launch(
            processes=options["processes"],
            grace_s=options["grace"],
            connect_tries=options["connect_tries"],
            health=options["health"],
            reload=options["reload"],
            child=options["child"],
        )
        try:
            backend = _backend(options["backend"])
            tubes = backend.tube_options.tubes_of(backend.queues, options["queue"])
            consumer = TaskConsumer(backend, tubes, options["concurrency"], options["batch_size"])
            consumer.check()
            server = Server(backend.tube_options.address)
            code = launch.run(lambda: [consumer], server, lambda flags: _command(flags, options))
        except InvalidArgumentError as error:
            raise CommandError(error.text, returncode=EXIT_USAGE) from error
        if code:
            sys.exit(code)


def _backend(alias: str) -> TubeBackend:
    """Return a backend of ours.

    Raises:
        InvalidArgumentError: the settings have none of that alias, or it is another's.
    """
    if alias not in task_backends.settings:
        known = ", ".join(sorted(task_backends.settings))
        raise InvalidArgumentError(f"there is no backend {alias!r} in TASKS, but {known}")
    try:
        backend = task_backends[alias]
    except ImproperlyConfigured as error:
        raise InvalidArgumentError(str(error)) from error
    if not isinstance(backend, TubeBackend):
        raise InvalidArgumentError(f"TASKS[{alias!r}] is no etcdq.django.TubeBackend")
    return backend


def _command(flags: list[str], options: dict[str, Any]) -> list[str]:
    """Return the command of a child: this one, started as this one was."""
    spec = sys.modules["__main__"].__spec__
    itself = [sys.argv[0]] if spec is None else ["-m", spec.parent or spec.name]
    words = ["--backend", options["backend"], "--concurrency", str(options["concurrency"])]
    words += ["--batch-size", str(options["batch_size"])]
    words += [word for queue in options["queue"] for word in ("--queue", queue)]
    if options.get("pythonpath"):  # the settings are passed on in the environment
        words += ["--pythonpath", options["pythonpath"]]
    return [sys.executable, *itself, "etcdq_worker", *flags, *words]


def _read(reader: Callable[[str], T]) -> Callable[[str], T]:
    """Make what reads the value of an option, and tells what is wrong with it."""

    def read(text: str) -> T:
        try:
            return reader(text)
        except InvalidArgumentError as error:
            raise argparse.ArgumentTypeError(error.text) from error

    return read


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)
