"""A real etcd, for tests that play one sequence on it and on ours."""

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from tests.support.processes import run_etcd


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[grpc.Channel]:
    """A channel to an empty etcd that ends with the test."""
    with run_etcd(tmp_path) as endpoint, grpc.insecure_channel(endpoint) as channel:
        yield channel
