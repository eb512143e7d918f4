"""A beanstalk server that a test kills, stops and starts again, always on the same port."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.beanstalk_peer import beanstalkd_program, wait_until_it_listens
from tests.support.processes import END_S, clean_environment, free_port


class MortalServer:
    """Runs until it is killed. In memory: what it had is gone then.

    Args:
        kind: "beanstalkd", the real one, or "etcdq", our node.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._port = free_port()
        self.address = f"127.0.0.1:{self._port}"
        self.start()

    def start(self) -> None:
        """Start it; return when it listens."""
        if self._kind == "beanstalkd":
            command = [beanstalkd_program(), "-l", "127.0.0.1", "-p", str(self._port)]
            self._process = subprocess.Popen(command)
            wait_until_it_listens(self._process, self._port)
            return
        command = [
            *(sys.executable, "-m", "etcdq", "serve", "--log-level", "error"),
            *("--listen-client-urls", "http://127.0.0.1:0", "--listen-beanstalk", self.address),
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, env=clean_environment())
        assert self._process.stdout is not None
        assert re.search(rb"ready", self._process.stdout.readline())

    def kill(self) -> None:
        """End it as a crash would; return when it is gone."""
        self._process.kill()
        self._process.wait(END_S)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def stop(self) -> None:
        """Let it do nothing at all, with its connections open."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)


@contextmanager
def run_mortal_server(kind: str) -> Iterator[MortalServer]:
    """Run one, and kill it at the end."""
    server = MortalServer(kind)
    try:
        yield server
    finally:
        server.kill()
