"""Other people's programs against a server: their lines as they come, each wait with a limit."""

import os
import queue
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

ROOT = Path(__file__).parents[2]
LINE_S = 30.0
"""How long a line may take: programs are started on machines that have much else to do."""


class Program:
    """One running program. What it printed is kept, to be shown."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], errors: IO[bytes]
    ) -> None:
        self.command = command
        self.printed: list[str] = []
        self._errors = errors
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, **environment},
        )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    @property
    def errors(self) -> str:
        """What it has written to stderr."""
        self._errors.seek(0)
        return self._errors.read().decode("utf-8", "backslashreplace")

    def line(self) -> str:
        """Return the next line it prints."""
        line = self.says_within(LINE_S)
        if line is None:
            pytest.fail(f"{self.command} printed only {self.printed}; {self.errors[-2000:]}")
        return line

    def says_within(self, timeout_s: float) -> str | None:
        """Return the next line it prints; None if none comes in time."""
        try:
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if line is None:
            pytest.fail(f"{self.command} ended after {self.printed}; {self.errors[-2000:]}")
        self.printed.append(line)
        return line

    def lines(self, count: int) -> list[str]:
        """Return the next lines it prints."""
        return [self.line() for _ in range(count)]

    def lines_until(self, text: str) -> list[str]:
        """Return the next lines it prints, up to one that begins with `text`."""
        found = [self.line()]
        while not found[-1].startswith(text):
            found.append(self.line())
        return found

    def finish(self) -> tuple[int, list[str]]:
        """Wait for its end; return the exit code and the lines not looked at."""
        rest: list[str] = []
        code = self._process.wait(LINE_S)
        while (line := self._lines.get(timeout=LINE_S)) is not None:
            rest.append(line)
        self.printed += rest
        return code, rest

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End it without a word."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End it, and show what it printed."""
        self.kill()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        print(
            "$", *(Path(word).name if word.startswith(str(ROOT)) else word for word in self.command)
        )
        print(*self.printed, sep="\n")


@contextmanager
def run_program(*command: str, **environment: str) -> Iterator[Program]:
    """Run a program; kill it at the end."""
    with tempfile.TemporaryFile() as errors:
        program = Program(command, environment, errors)
        try:
            yield program
        finally:
            program.close()


class Etcdctl:
    """etcdctl (Debian's 3.4) at one endpoint; skips where it is not installed."""

    def __init__(self, endpoint: str) -> None:
        found = shutil.which("etcdctl")
        if found is None:
            pytest.skip("no etcdctl here: install the Debian package etcd-client")
        self.endpoint = endpoint
        self._environment = {"ETCDCTL_ENDPOINTS": endpoint, "ETCDCTL_API": "3"}

    def run(self, *words: str, stdin: str = "") -> tuple[int, str, str]:
        """Run one command; return exit code, stdout, and the line that says what was wrong."""
        done = subprocess.run(
            ["etcdctl", *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=LINE_S,
            env={**os.environ, **self._environment},
        )
        print("$ etcdctl", *words)
        print(done.stdout, end="")
        said = [line for line in done.stderr.splitlines() if not line.startswith('{"level"')]
        print(*said, sep="\n", end="\n" if said else "")
        return done.returncode, done.stdout, said[-1] if said else ""

    def __call__(self, *words: str) -> list[str]:
        """Run one command, which must succeed; return the lines it prints."""
        code, stdout, said = self.run(*words)
        assert code == 0, said
        return stdout.splitlines()

    @contextmanager
    def start(self, *words: str) -> Iterator[Program]:
        """Run one command that goes on until the end of the block."""
        with run_program("etcdctl", *words, **self._environment) as program:
            yield program
