"""Real servers as processes of their own: ours, and the real etcd."""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

READY_S = 30.0
END_S = 15.0


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def clean_environment(**variables: str) -> dict[str, str]:
    """Return the environment without what would configure ours, and with `variables`."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("ETCDQ_")}
    return {**inherited, **variables}


@contextmanager
def run_etcdq(*flags: str, port: int = 0) -> Iterator[str]:
    """Run `etcdq serve` in memory; give its endpoint; drain it at the end.

    It has no beanstalk door unless a flag says where.
    """
    listen = ("--listen-client-urls", f"http://127.0.0.1:{port}", "--listen-beanstalk", "none")
    command = [sys.executable, "-m", "etcdq", "serve", "--log-level", "error", *listen, *flags]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=clean_environment(), text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        match = re.search(r"http://(127\.0\.0\.1:\d+)", line)
        assert match, line
        yield match[1]
    finally:
        process.terminate()
        try:
            process.communicate(timeout=END_S)
        finally:
            process.kill()


@contextmanager
def run_etcd(folder: Path) -> Iterator[str]:
    """Run the real etcd on free ports with its data in `folder`; give its endpoint."""
    program = shutil.which("etcd")
    if program is None:
        pytest.skip("no etcd here: install the Debian package etcd-server")
    client, peer = (f"127.0.0.1:{free_port()}" for _ in range(2))
    command = [
        program,
        *("--name", "reference", "--data-dir", str(folder / "etcd"), "--unsafe-no-fsync"),
        *("--listen-client-urls", f"http://{client}"),
        *("--advertise-client-urls", f"http://{client}"),
        *("--listen-peer-urls", f"http://{peer}", "--initial-advertise-peer-urls"),
        *(f"http://{peer}", "--initial-cluster", f"reference=http://{peer}"),
    ]
    with (folder / "etcd.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        with grpc.insecure_channel(client) as channel:
            try:
                grpc.channel_ready_future(channel).result(timeout=READY_S)
            except grpc.FutureTimeoutError:
                pytest.fail(f"etcd did not start: {(folder / 'etcd.log').read_text()[-2000:]}")
        yield client
    finally:
        process.terminate()
        process.wait(timeout=END_S)
