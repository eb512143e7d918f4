"""Behind etcd's own `grpc-proxy`: keys work, a consumer is not served, and nothing is lost.

The proxy shows a watch each revision once. Messages make no revisions, so it drops the events of
all messages that come without another key having changed: they were taken from us, not shown.
See docs/semantics.md rule 18.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.calls import Calls
from tests.support.processes import free_port
from tests.support.programs import Etcdctl, run_program

pytestmark = pytest.mark.peer

UUID = "8f14e45f-ceea-467f-a0e6-1c0b6d3d7a11"
OTHER = "c9f0f895-fb98-4b91-99f5-1fd0297e236d"
WaitUntil = Callable[[Callable[[], object]], None]


@pytest.fixture
def proxied(ours: str, tmp_path: Path, wait_until: WaitUntil) -> Iterator[Etcdctl]:
    """Return etcdctl at a proxy before our node."""
    program = shutil.which("etcd")
    if program is None:
        pytest.skip("no etcd here: install the Debian package etcd-server")
    address = f"127.0.0.1:{free_port()}"
    words = ("grpc-proxy", "start", "--endpoints", ours, "--listen-addr", address)
    with run_program(program, *words, "--data-dir", str(tmp_path)) as proxy:
        wait_until(lambda: "started gRPC proxy" in proxy.errors)
        yield Etcdctl(address)


def test_ordinary_keys(proxied: Etcdctl) -> None:
    """Put, get, delete and watch of ordinary keys work through the proxy."""
    with proxied.start("watch", "--prefix", "w/", "--rev=2") as watch:
        assert proxied("put", "w/a", "1") == ["OK"]
        assert proxied("get", "w/a") == ["w/a", "1"]
        assert proxied("del", "w/a") == ["1"]
        assert watch.lines(6) == ["PUT", "w/a", "1", "DELETE", "w/a", ""]


def test_a_producer(proxied: Etcdctl, ours: str) -> None:
    """Putting messages and looking at them works through the proxy."""
    assert proxied("put", "/q/produce/p/job-1", "payload") == ["OK"]
    [key, body] = proxied("get", "--prefix", "/q/produce/")

    assert body == "payload"
    assert Etcdctl(ours)("del", key) == ["1"]
    assert proxied("del", key) == ["0"]


def test_a_consumer_is_not_served(
    proxied: Etcdctl, ours: str, calls: Calls, wait_until: WaitUntil
) -> None:
    """It misses messages that the proxy has taken for it; they are seen, and can be kicked back."""
    bodies = [f"body-{number}" for number in range(10)]
    with proxied.start("watch", f"/q/jobs/c/{UUID}") as watch:
        wait_until(lambda: calls.get(f"/q/jobs/c/{UUID}"))
        for body in bodies:
            calls.put(f"/q/jobs/p/{body}", body)
        wait_until(lambda: calls.counts("jobs") == (0, 10, 0))
        calls.put("ordinary", "a new revision")
        calls.put("/q/jobs/p/last", "last")
        shown = watch.lines_until("last")[2::3]
        assert calls.counts("jobs") == (0, 11, 0)
        behind = peers(calls)

    missed = [body for body in bodies if body not in shown]
    print("shown:", shown, "missed:", missed)
    assert len(missed) >= 9
    # The proxy may keep its watch for a while: its consumer is the node's, until it is replaced.
    with Etcdctl(ours).start("watch", f"/q/jobs/c/{UUID}"):
        wait_until(lambda: peers(calls) and peers(calls) != behind)
    wait_until(lambda: calls.counts("jobs") == (0, 0, 11))
    assert calls.kick("jobs", 100) == 11
    with Etcdctl(ours).start("watch", f"/q/jobs/c/{OTHER}") as direct:
        assert direct.lines_until("last")[2::3] == [*bodies, "last"]


def peers(calls: Calls) -> list[str]:
    """Return where the queue's consumers are connected from."""
    return [consumer.peer for consumer in calls.show("jobs").consumers]
