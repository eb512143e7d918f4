"""Which Djangos there are to test with: that of this environment, and one for a newer Python; and
the project in each of them.
"""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from etcdq.beanstalk import BlockingClient
from tests.support.beanstalk_peer import run_beanstalkd
from tests.support.django_project import TUBES, Project, Web
from tests.support.processes import free_port, run_etcdq
from tests.support.programs import Program

CLIENTS = Path(__file__).parents[2] / ".clients"
HERE = "here"
NEWER = "django_newer"
"""Made by scripts/clients, of a Python 3.12 or later, which Django 6 asks for."""
ABSENT = CLIENTS / f"{NEWER}_absent"
"""Written by scripts/clients where it found no such Python."""

VERSIONS = """
import sys, django
from importlib.metadata import version
from importlib.util import find_spec
own = find_spec("django.tasks") is not None
with_ = "its own Tasks" if own else f"django-tasks {version('django-tasks')}"
print(f"Django {django.get_version()} with {with_}, Python {sys.version.split()[0]}")
"""


@dataclass(frozen=True)
class Kind:
    """One environment to test in."""

    name: str
    python: Path

    @property
    def is_there(self) -> bool:
        """Whether it has been made."""
        return self.python.exists()


KINDS = [
    Kind(HERE, Path(sys.executable)),
    *([] if ABSENT.exists() else [Kind(NEWER, CLIENTS / NEWER / "bin/python")]),
]


@cache
def versions(kind: Kind) -> str:
    """Return what an environment has."""
    command = [str(kind.python), "-c", VERSIONS]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say with what the backend was run, and with what it was not."""
    found = [versions(kind) for kind in KINDS if kind.is_there]
    terminalreporter.section("Django")
    for each in found:
        terminalreporter.write_line(f"run: {each}")
    for what in ("its own Tasks", "django-tasks"):
        if not any(what in each for each in found):
            why = ABSENT.read_text().strip() if ABSENT.exists() else "run scripts/clients"
            terminalreporter.write_line(f"NOT run: a Django with {what} ({why})")


@pytest.fixture(scope="session", params=KINDS, ids=lambda kind: kind.name)
def django(request: pytest.FixtureRequest) -> Kind:
    """Return an environment."""
    kind: Kind = request.param
    if not kind.is_there:
        pytest.skip(f"no {kind.name} here: run scripts/clients")
    return kind


@pytest.fixture(scope="session")
def ours() -> Iterator[str]:
    """Where the beanstalk door of our node is."""
    address = f"127.0.0.1:{free_port()}"
    with run_etcdq("--listen-beanstalk", address):
        yield address


@pytest.fixture(scope="session")
def beanstalkd() -> Iterator[str]:
    """Where a real beanstalkd listens."""
    with run_beanstalkd() as address:
        yield address


@pytest.fixture(scope="session")
def project(django: Kind, ours: str, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return the project, its databases made."""
    project = Project(django.python, tmp_path_factory.mktemp("project"), ours, TUBES)
    done = project.manage("migrate", "-v", "0")
    assert done.returncode == 0, done.stderr
    return project


@pytest.fixture(scope="session")
def web(project: Project) -> Iterator[Web]:
    """Return a process that enqueues."""
    with project.web() as web:
        yield web


@pytest.fixture(scope="session")
def worker(project: Project) -> Iterator[Program]:
    """Return a worker of the backend "default", which runs one task after the other."""
    with project.worker() as worker:
        yield worker


@pytest.fixture
def queue(ours: str) -> Iterator[BlockingClient]:
    """Return a client of the server itself."""
    with BlockingClient(ours) as client:
        yield client
