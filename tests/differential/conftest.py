"""A real etcd, for tests that play one sequence on it and on ours."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

READY_S = 20


def free_port() -> int:
    """A port that was free a moment ago (etcd must be told its ports)."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[grpc.Channel]:
    """A channel to an empty etcd that ends with the test."""
    program = shutil.which("etcd")
    if program is None:
        pytest.skip("no etcd here: install the Debian package etcd-server")
    client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    command = [
        program,
        *("--name", "reference", "--data-dir", str(tmp_path / "etcd")),
        *("--listen-client-urls", client, "--advertise-client-urls", client),
        *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
        *("--initial-cluster", f"reference={peer}"),
    ]
    with (tmp_path / "etcd.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        with grpc.insecure_channel(client.removeprefix("http://")) as channel:
            try:
                grpc.channel_ready_future(channel).result(timeout=READY_S)
            except grpc.FutureTimeoutError:
                pytest.fail(f"etcd did not start: {(tmp_path / 'etcd.log').read_text()[-2000:]}")
            yield channel
    finally:
        process.terminate()
        process.wait(timeout=READY_S)
