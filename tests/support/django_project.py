"""The Django project of the tests, as processes: one that enqueues, and workers."""

import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from etcdq.beanstalk import BlockingClient
from tests.support.processes import clean_environment
from tests.support.programs import Program, run_program

PROJECT = Path(__file__).parents[1] / "django/project"
ROOT = Path(__file__).parents[2]
END_S = 60.0
LOOK_S = 0.02
TUBES = "django"
"""How the names of tubes begin, if nothing else is said."""


class Web:
    """A process that enqueues what it is told to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, do: str, *arguments: Any, **words: Any) -> Any:
        """Let it do something; return its answer."""
        if arguments:
            words |= {"task": arguments[0], "args": arguments[1:]}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **words}) + "\n")
        self._process.stdin.flush()
        # It says a line for each that it is told, so nothing of an answer is read ahead.
        assert select.select([self._process.stdout], [], [], END_S)[0], f"no answer to {do}"
        line = self._process.stdout.readline()
        assert line, f"it ended at {do}"
        return json.loads(line)


class Project:
    """The project with databases of its own, at one server.

    Args:
        python: of the environment that it runs in.
        folder: for its databases.
        address: of the server.
        tubes: how the names of its tubes begin.
        settings: further variables of the environment.
    """

    def __init__(
        self, python: Path, folder: Path, address: str, tubes: str, **settings: str
    ) -> None:
        self._python = str(python)
        self._environment = clean_environment(
            PROJECT_FOLDER=str(folder),
            PROJECT_TUBES=tubes,
            ETCDQ_BEANSTALK_URL=address,
            PYTHONPATH=str(ROOT),
            PYTHONWARNINGS="error",
            **settings,
        )

    def manage(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of manage.py to its end."""
        return subprocess.run(
            self._command(words),
            capture_output=True,
            text=True,
            env=self._environment,
            timeout=END_S,
        )

    @contextmanager
    def web(self) -> Iterator[Web]:
        """Run the process that enqueues."""
        process = subprocess.Popen(
            self._command(("web",)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self._environment,
        )
        with process:  # at the end its input ends, and so does it
            try:
                yield Web(process)
            except BaseException:
                process.kill()
                raise

    @contextmanager
    def worker(self, *words: str) -> Iterator[Program]:
        """Run a worker; at the end it has nothing more to say, and ends well."""
        command = self._command(("etcdq_worker", *words))
        with run_program(*command, **self._environment) as worker:
            yield worker
            worker.terminate()
            assert worker.finish() == (0, [])

    def _command(self, words: tuple[str, ...]) -> list[str]:
        return [self._python, os.fspath(PROJECT / "manage.py"), *words]


def until(is_so: Callable[[], object]) -> None:
    """Look at other processes until something is so there."""
    end_s = time.monotonic() + END_S
    while not is_so():
        assert time.monotonic() < end_s, "it does not come about"
        time.sleep(LOOK_S)


def jobs(queue: BlockingClient, tube: str) -> dict[str, Any]:
    """Return how many jobs of a tube are in which state, but for states that none is in."""
    figures = queue.stats_tube(tube)
    states = ("ready", "reserved", "delayed", "buried")
    counts = {state: figures[f"current-jobs-{state}"] for state in states}
    return {state: count for state, count in counts.items() if count}


def newest(queue: BlockingClient) -> int:
    """Return the id of the newest job."""
    return int(queue.stats()["total-jobs"])
