"""Servers in processes of their own, shared by the tests of a file: each uses keys of its own."""

import time
from collections.abc import Callable, Iterator

import grpc
import pytest

from tests.support.calls import Calls
from tests.support.processes import run_etcd, run_etcdq

WAIT_S = 30.0
LOOK_S = 0.02


@pytest.fixture(scope="module")
def ours() -> Iterator[str]:
    """The endpoint of our node."""
    with run_etcdq() as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def real_etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The endpoint of a real etcd."""
    with run_etcd(tmp_path_factory.mktemp("etcd")) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def calls(ours: str) -> Iterator[Calls]:
    """Calls to our node."""
    with grpc.insecure_channel(ours) as channel:
        yield Calls(channel)


@pytest.fixture
def wait_until() -> Callable[[Callable[[], object]], None]:
    """Return a function that looks at another process until something is so there."""

    def wait(is_so: Callable[[], object]) -> None:
        end_s = time.monotonic() + WAIT_S
        while not is_so():
            if time.monotonic() > end_s:
                pytest.fail("it does not come about")
            time.sleep(LOOK_S)

    return wait
