"""The package beside an application that has packages `server` and `actors` of its own."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
APPLICATION = """
import actors, server          # the application's own
import etcdq, etcdq.actors.shell, etcdq.server.daemon
import trio

async def main():
    async with etcdq.open_node() as node, etcdq.connect(node.endpoint) as client:
        await client.queue("jobs").put(b"payload")
        [queue] = node.census()
        print(queue.name.decode(), queue.ready)

assert actors.WHOSE == server.WHOSE == "the application's"
trio.run(main)
print(etcdq.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of what is installed from: nothing is left in the checkout."""
    source = tmp_path_factory.mktemp("source")
    built = tmp_path_factory.mktemp("wheel")
    for folder in ("etcdq", "actors", "server"):
        shutil.copytree(
            ROOT / folder,
            source / folder,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    pip("wheel", "--no-build-isolation", "--no-deps", "-w", str(built), str(source))
    [found] = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of a fresh environment with the wheel, and our libraries behind it."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    python = folder / "bin/python"
    pip("--python", str(python), "install", "--no-deps", str(wheel))
    [packages] = folder.glob("lib/python*/site-packages")
    # Only a path: .pth files behind it (ours of the editable install) are not read.
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    return python


@pytest.fixture
def application(tmp_path: Path) -> Path:
    """Return a program with a package `actors` and a module `server` beside it."""
    (tmp_path / "actors").mkdir()
    (tmp_path / "actors/__init__.py").write_text('WHOSE = "the application\'s"\n')
    (tmp_path / "server.py").write_text('WHOSE = "the application\'s"\n')
    (tmp_path / "application.py").write_text(APPLICATION)
    return tmp_path


def pip(*arguments: str) -> None:
    """Run pip without any index: what is needed is here."""
    run(sys.executable, "-m", "pip", "-q", "--no-input", "--disable-pip-version-check", *arguments)


def run(*command: str, cwd: Path | None = None) -> str:
    """Run a command and return what it prints."""
    environment = {**os.environ, "PIP_NO_INDEX": "1"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, timeout=120.0, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_wheel_has_one_name_and_both_rooms(wheel: Path) -> None:
    """Site-packages gets `etcdq` and nothing beside it, with the linked rooms as real files."""
    names = zipfile.ZipFile(wheel).namelist()

    assert {name.split("/")[0] for name in names} == {"etcdq", "etcdq-0.1.0.dist-info"}
    for needed in ("actors/shell.py", "server/daemon.py", "server/etcd/pb/rpc_pb2.py", "py.typed"):
        assert f"etcdq/{needed}" in names


def test_installed_beside_an_application(python: Path, application: Path) -> None:
    """Neither shadows the other, and a node and a client run."""
    printed = run(str(python), "application.py", cwd=application).splitlines()

    assert printed[0] == "jobs 1"
    assert Path(printed[1]).is_relative_to(python.parents[1])


def test_editable_beside_an_application(application: Path) -> None:
    """The same from a checkout."""
    printed = run(sys.executable, "application.py", cwd=application).splitlines()

    assert printed[0] == "jobs 1"


def test_installed_command(python: Path, tmp_path: Path) -> None:
    """The command is there, and runs from any folder."""
    assert run(str(python.parent / "etcdq"), "--version", cwd=tmp_path) == "etcdq 0.1.0\n"
