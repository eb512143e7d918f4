"""`etcdq` as a user runs it: in this process where that will do, for most of a process is imports;
else in one of its own.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from etcdq import cli
from tests.support.processes import clean_environment

Run = Callable[..., subprocess.CompletedProcess[str]]


def runner(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], folder: Path) -> Run:
    """Return a function that runs `etcdq` in this process, through the entry point of any other."""

    def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        (folder / "stdin").write_text(stdin)
        capfd.readouterr()
        with (folder / "stdin").open() as file, monkeypatch.context() as context:
            context.setattr(sys, "argv", ["etcdq", *arguments])
            context.setattr(sys, "stdin", file)
            with pytest.raises(SystemExit) as ended:
                cli.main()
        stdout, stderr = capfd.readouterr()
        code = ended.value.code
        assert code is None or isinstance(code, int)
        return subprocess.CompletedProcess(arguments, code or 0, stdout, stderr)

    return run


def command(*arguments: str) -> list[str]:
    """Return the command line of `etcdq`; warnings are errors there too."""
    return [sys.executable, "-W", "error", "-m", "etcdq", *arguments]


def outcome(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    """Return exit code, standard output and standard error."""
    return done.returncode, done.stdout, done.stderr


def start(*arguments: str, stdin: int | None = None, **environment: str) -> subprocess.Popen[str]:
    """Start `etcdq` in a process of its own and leave it running."""
    return subprocess.Popen(
        command(*arguments),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(**environment),
    )


def figures(run: Run, tube: str) -> dict[str, int]:
    """Return the statistics of a tube; {} if there is none."""
    done = run("stats", "-t", tube, "--json")
    return json.loads(done.stdout) if done.returncode == 0 else {}


def count(run: Run, tube: str, state: str) -> int:
    """Return how many jobs of a tube are in a state."""
    return figures(run, tube).get(f"current-jobs-{state}", 0)
