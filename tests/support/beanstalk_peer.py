"""The real beanstalkd as a process of its own."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.processes import END_S, READY_S, free_port

LOOK_S = 0.01


def beanstalkd_program() -> str:
    """Return where the real beanstalkd lies; skip where it is missing."""
    program = shutil.which("beanstalkd")
    if program is None:
        pytest.skip("no beanstalkd here: install the Debian package beanstalkd")
    return program


@contextmanager
def run_beanstalkd(*flags: str, port: int = 0) -> Iterator[str]:
    """Run the real beanstalkd in memory; give its address, host:port."""
    port = port or free_port()
    command = [beanstalkd_program(), "-l", "127.0.0.1", "-p", str(port), *flags]
    process = subprocess.Popen(command)
    try:
        wait_until_it_listens(process, port)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=END_S)


def wait_until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    """Return when a process takes connections."""
    end_s = time.monotonic() + READY_S
    while time.monotonic() < end_s:
        if process.poll() is not None:
            pytest.fail(f"beanstalkd ended with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=READY_S).close()
        except ConnectionRefusedError:
            time.sleep(LOOK_S)
        else:
            return
    pytest.fail("beanstalkd did not start")
