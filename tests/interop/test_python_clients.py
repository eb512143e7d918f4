"""Three etcd clients of Python that know nothing of queues, as processes, as queue users.

etcd3 stands on grpcio and threads, aetcd on grpcio's asyncio, etcd-client-py on the Rust client
(tonic, hyper). `scripts/clients` makes an environment for each; `clients/` holds what they do.
"""

import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from tests.support.calls import Calls
from tests.support.programs import Program, run_program

ROOT = Path(__file__).parents[2]
CLIENTS = ("etcd3", "aetcd", "etcd_client")
MESSAGES = 100
IDLE_S = 20.0
"""Three of aetcd's pings, which come every 6 s: one more than is forgiven if they are too close."""

Start = Callable[..., AbstractContextManager[Program]]
WaitUntil = Callable[[Callable[[], object]], None]


def start_at(client: str, endpoint: str) -> Start:
    """Return a function that starts a client's driver with a command and its arguments."""
    python = ROOT / ".clients" / client / "bin/python"
    if not python.exists():
        pytest.skip(f"no {client} here: run scripts/clients")
    driver = Path(__file__).parent / "clients" / f"drive_{client}.py"

    def start(*words: object) -> AbstractContextManager[Program]:
        host, _, port = endpoint.rpartition(":")
        return run_program(str(python), str(driver), host, port, *map(str, words))

    return start


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> str:
    """Return the name of a client."""
    name: str = request.param
    return name


@pytest.fixture
def start(client: str, ours: str) -> Start:
    """Return a function that starts the client at our node."""
    return start_at(client, ours)


@pytest.fixture(scope="module", autouse=True)
def idle(ours: str) -> Iterator[tuple[float, dict[str, Program]]]:
    """Watches that hear nothing while the other tests run, by their keys; and when they began."""
    with ExitStack() as stack:
        begun_s = time.monotonic()
        programs = {}
        for client in CLIENTS:
            for key in (registry_key(f"idle-{client}", uuid.uuid4()), f"idle/{client}"):
                program = stack.enter_context(start_at(client, ours)("consume", key, 1, "hold"))
                assert program.line() == "watching"
                programs[key] = program
        yield begun_s, programs


def registry_key(queue: str, consumer: uuid.UUID) -> str:
    """Return the key that is there while a consumer is."""
    return f"/q/{queue}/c/{consumer}"


def key_of(line: str) -> str:
    """Return the key in a line `got KEY BODY`."""
    return line.split()[1]


@pytest.mark.peer
def test_ordinary_keys(start: Start, client: str, real_etcd: str) -> None:
    """Put, get, delete and watch see what they see on the real etcd."""
    with start("keys") as mine, start_at(client, real_etcd)("keys") as theirs:
        assert mine.finish() == theirs.finish()

    assert mine.printed == [
        "get None",
        "get one",
        "get two",
        "delete True",
        "delete False",
        "event PUT k one",
        "event PUT k two",
        "event DELETE k ",
    ]


def test_messages_in_order_exactly_once(start: Start, client: str, calls: Calls) -> None:
    """What is put while a consumer watches comes in order, once, and is gone when acknowledged."""
    queue = f"order-{client}"
    with (
        start("consume", registry_key(queue, uuid.uuid4()), MESSAGES, "acknowledge") as consumer,
        start("produce", queue, MESSAGES) as producer,
    ):
        assert producer.finish() == (0, [f"produced {MESSAGES}"])
        code, printed = consumer.finish()

    assert code == 0, consumer.errors
    assert printed[0] == "watching"
    assert printed[-1] == "done"
    said = [re.fullmatch(rf"got /q/{queue}/(\d{{16}})/(\S+) (\S+)", one) for one in printed[1:-1]]
    assert [one and (one[2], one[3]) for one in said] == [
        (f"job-{number}", f"body-{number}") for number in range(MESSAGES)
    ]
    assert calls.counts(queue) == (0, 0, 0)
    shown = calls.show(queue)
    assert (shown.puts, shown.deliveries, shown.acknowledgements) == (MESSAGES,) * 3


def test_messages_wait(start: Start, client: str, calls: Calls) -> None:
    """What was put before anybody watched comes to the first who does."""
    queue = f"wait-{client}"
    with start("produce", queue, 3) as producer:
        producer.finish()
    assert calls.counts(queue) == (3, 0, 0)
    with start("consume", registry_key(queue, uuid.uuid4()), 3, "acknowledge") as consumer:
        _, printed = consumer.finish()

    assert [line.split()[-1] for line in printed] == [
        "watching",
        "body-0",
        "body-1",
        "body-2",
        "done",
    ]
    assert calls.counts(queue) == (0, 0, 0)


def test_another_takes_over(start: Start, client: str, calls: Calls, wait_until: WaitUntil) -> None:
    """After a kill the next consumer gets what comes; what was held is not handed over again.

    Its consumer comes back under its UUID, and acknowledges it then.
    """
    queue = f"take-{client}"
    first, second = uuid.uuid4(), uuid.uuid4()
    with start("consume", registry_key(queue, first), 1, "hold") as holder:
        wait_until(lambda: calls.get(registry_key(queue, first)))
        with start("consume", registry_key(queue, second), 3, "acknowledge") as other:
            wait_until(lambda: calls.get(registry_key(queue, second)))
            calls.put(f"/q/{queue}/p/held", "held")
            _, held, _ = holder.lines(3)
            assert calls.counts(queue) == (0, 1, 0)
            holder.kill()
            wait_until(lambda: calls.get(registry_key(queue, first)) is None)
            with start("produce", queue, 3) as producer:
                producer.finish()
            _, printed = other.finish()

    assert [line.split()[-1] for line in printed[1:-1]] == ["body-0", "body-1", "body-2"]
    assert calls.counts(queue) == (0, 0, 1)
    with start("consume", registry_key(queue, first), 1, "acknowledge") as again:
        assert again.line() == "watching"
        with start("acknowledge", key_of(held)) as late:
            assert late.finish() == (0, ["delete True"])
        with start("acknowledge", key_of(held)) as twice:
            assert twice.finish() == (0, ["delete False"])
        calls.put(f"/q/{queue}/p/new", "new")
        assert again.finish()[1][0].endswith("/new new")
    assert calls.counts(queue) == (0, 0, 0)


def test_idle_connections_are_kept(
    idle: tuple[float, dict[str, Program]], calls: Calls, wait_until: WaitUntil
) -> None:
    """Consumers answer our pings; who pings us every 6 s is not punished; both go on."""
    begun_s, programs = idle
    queues = [f"idle-{client}" for client in CLIENTS]
    peers = [peer_of(calls, queue) for queue in queues]
    wait_until(lambda: time.monotonic() > begun_s + IDLE_S)

    assert peers == [peer_of(calls, queue) for queue in queues]
    for key, program in programs.items():
        queue = key.split("/")[2] if key.startswith("/q/") else ""
        calls.put(f"/q/{queue}/p/late" if queue else key, "late")
        assert program.line().split()[-1] == "late"


def peer_of(calls: Calls, queue: str) -> str:
    """Return the address of the only consumer of a queue."""
    [consumer] = calls.show(queue).consumers
    peer: str = consumer.peer
    return peer
