"""A beanstalk server that a test kills, stops and starts again, always on the same port."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support.beanstalk_peer import beanstalkd_program, wait_until_it_listens
from tests.support.processes import END_S, clean_environment, free_port

TUBER: Final = os.environ.get("ETCDQ_TUBER")
"""Where a tuber lies that the tests are to be run with, too: a thing for one's own machine."""
KINDS: Final = ("beanstalkd", "etcdq", *(["tuber"] if TUBER else []))


class MortalServer:
    """Runs until it is killed.

    Args:
        kind: of `KINDS`: "beanstalkd", the real one; "etcdq", our node; "tuber".
        folder: where one that can keeps its jobs; without, what it had is gone when it is killed.
    """

    def __init__(self, kind: str, folder: Path | None = None) -> None:
        self.kind = kind
        self.keeps_jobs = folder is not None and kind != "etcdq"
        """Whether it has its jobs again after it was killed."""
        self._folder = folder
        self._port = free_port()
        self.address = f"127.0.0.1:{self._port}"
        self.start()

    def start(self) -> None:
        """Start it; return when it listens."""
        if self.kind == "etcdq":
            self._start_ours()
            return
        command = self._beanstalkd() if self.kind == "beanstalkd" else self._tuber()
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        wait_until_it_listens(self._process, self._port)

    def _beanstalkd(self) -> list[str]:
        command = [beanstalkd_program(), "-l", "127.0.0.1", "-p", str(self._port)]
        return command if self._folder is None else [*command, "-b", str(self._folder), "-f", "0"]

    def _tuber(self) -> list[str]:
        assert TUBER is not None
        command = [TUBER, "server", "-l", "127.0.0.1", "-p", str(self._port)]
        if self._folder is None:
            return command
        return [*command, "-b", str(self._folder), "-i", "0", "-s", "100m"]

    def _start_ours(self) -> None:
        command = [
            *(sys.executable, "-m", "etcdq", "serve", "--log-level", "error"),
            *("--listen-client-urls", "http://127.0.0.1:0", "--listen-beanstalk", self.address),
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, env=clean_environment())
        assert self._process.stdout is not None
        assert re.search(rb"ready", self._process.stdout.readline())

    def kill(self) -> None:
        """End it as a crash would; return when it is gone."""
        self._end(signal.SIGKILL)

    def terminate(self) -> None:
        """End it as an operator would; return when it is gone."""
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        self._process.send_signal(number)
        self._process.wait(END_S)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def stop(self) -> None:
        """Let it do nothing at all, with its connections open."""
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)  # all of its threads

    def go_on(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)


@contextmanager
def run_mortal_server(kind: str, folder: Path | None = None) -> Iterator[MortalServer]:
    """Run one, and kill it at the end."""
    server = MortalServer(kind, folder)
    try:
        yield server
    finally:
        server.kill()
