"""Servers in processes of their own, shared by the tests of a file: each uses keys of its own."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from tests.support.beanstalk_peer import run_beanstalkd
from tests.support.calls import Calls
from tests.support.command_line import Run, runner
from tests.support.mortal_server import KINDS, run_mortal_server
from tests.support.processes import free_port, run_etcd, run_etcdq

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


@pytest.fixture(scope="module", params=KINDS)
def beanstalk_address(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where a beanstalk server listens: a real one, our node, and tuber where it is given."""
    if request.param == "beanstalkd":
        with run_beanstalkd() as address:
            yield address
    elif request.param == "tuber":
        with run_mortal_server("tuber") as server:
            yield server.address
    else:
        address = f"127.0.0.1:{free_port()}"
        with run_etcdq("--listen-beanstalk", address):
            yield address


@pytest.fixture
def beanstalk_etcdq(
    beanstalk_address: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Run:
    """Return a function that runs `etcdq` with ETCDQ_BEANSTALK_URL set."""
    monkeypatch.setenv("ETCDQ_BEANSTALK_URL", f"beanstalk://{beanstalk_address}")
    return runner(monkeypatch, capfd, tmp_path)


@pytest.fixture
def tube(request: pytest.FixtureRequest) -> str:
    """The name of a tube that no other test uses."""
    return re.sub(r"[^a-z0-9_]", "_", request.node.name.partition("[")[0])
