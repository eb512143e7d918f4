"""What Sentry is told of jobs that are given up: its real SDK, with a transport in memory."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
import sentry_sdk
from sentry_sdk.envelope import Envelope
from sentry_sdk.transport import Transport
from structlog.testing import capture_logs

from etcdq.errors import InvalidArgumentError
from etcdq.worker import PermanentError, ReservedJob, consumer, sentry
from etcdq.worker.consumer import CONSUMER_OF
from tests.support.beanstalk_world import BeanstalkWorld, with_a_node
from tests.support.worker_world import Failing, at_work, client_of, put, settle, until


class Kept(Transport):
    """Keeps what is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Any] = []

    def capture_envelope(self, envelope: Envelope) -> None:
        """Keep an event."""
        self.events.append(envelope.get_event())


@pytest.fixture
def told() -> Iterator[list[Any]]:
    """What Sentry was told; its SDK is set up as by an application, and put out of use again."""
    transport = Kept()
    sentry_sdk.init(
        "http://key@127.0.0.1:9/1",
        transport=transport,
        default_integrations=False,  # they would stay in this process for good
        auto_enabling_integrations=False,
    )
    yield transport.events
    sentry_sdk.get_client().close()
    sentry_sdk.get_global_scope().set_client(None)


@with_a_node
async def test_told_of_a_job_that_is_given_up(world: BeanstalkWorld, told: list[Any]) -> None:
    """Once, after its last try, with the error and which job it was; the body is not sent."""
    consumer = Failing()
    consumer.tries_max = 3
    async with client_of(world) as client, at_work(world, consumer) as working:
        (job_id,) = await put(client, b"private")
        await until(lambda: working.figures.failed == 2)
        assert told == []
        await until(lambda: working.figures.given_up)

    (event,) = told
    (error,) = event["exception"]["values"]
    assert (error["type"], error["value"]) == ("ValueError", "never")
    assert event["tags"] == {
        "consumer": "Failing",
        "tube": "t",
        "job_id": str(job_id),
        "tries": "3",
    }
    assert "private" not in str(event)


@with_a_node
async def test_tags_of_one_job_are_not_told_of_the_next(
    world: BeanstalkWorld, told: list[Any]
) -> None:
    """Nor of what the application itself tells Sentry."""
    consumer = Failing()
    consumer.error = PermanentError("no")
    async with client_of(world) as client, at_work(world, consumer) as working:
        ids = await put(client, b"a", b"b")
        await until(lambda: working.figures.given_up == 2)
    sentry_sdk.capture_message("of the application")

    *ours, other = told
    assert [event["tags"]["job_id"] for event in ours] == [str(each) for each in ids]
    assert other.get("tags", {}) == {}


@pytest.mark.parametrize("failure", [OSError("nobody can be told"), SystemExit(0)])
@with_a_node
async def test_a_hook_of_ones_own(
    world: BeanstalkWorld, told: list[Any], failure: BaseException
) -> None:
    """It takes the place of Sentry, also with the decorator; one that fails changes nothing."""
    reported: list[tuple[int, str]] = []

    async def report(job: ReservedJob, error: BaseException) -> None:
        reported.append((job.number, str(error)))
        raise failure

    @consumer("t", permanent=(ValueError,), report=report)
    async def fails(job: ReservedJob) -> None:
        raise ValueError("never")

    with capture_logs() as lines:
        made = getattr(fails, CONSUMER_OF)()
        async with client_of(world) as client, at_work(world, made) as working:
            await put(client, b"a")
            await until(lambda: working.figures.given_up)

    assert (reported, told) == ([(1, "never")], [])
    assert "report failed" in [line["event"] for line in lines]


@with_a_node
async def test_without_the_package(world: BeanstalkWorld, monkeypatch: Any) -> None:
    """Nobody misses it: the job is given up."""
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)  # as if it were not installed
    consumer = Failing()
    consumer.error = PermanentError("no")
    with capture_logs() as lines:
        async with client_of(world) as client, at_work(world, consumer) as working:
            await put(client, b"a")
            await settle()

    assert (working.figures.given_up, consumer.given_up) == (1, [(b"a", consumer.error)])
    assert [line["event"] for line in lines] == ["job is given up"]


# the environment ----------------------------------------------------------------------------


def test_nothing_is_begun_unasked(monkeypatch: Any) -> None:
    """Without the variable the SDK is not even imported."""
    monkeypatch.delenv("SENTRY_DSN", raising=False)
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)
    with capture_logs() as lines:
        sentry.begin()

    assert lines == []


def test_asked_for_without_the_package(monkeypatch: Any) -> None:
    """It is said, and nothing fails."""
    monkeypatch.setenv("SENTRY_DSN", "http://key@127.0.0.1:9/1")
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)
    with capture_logs() as lines:
        sentry.begin()

    (line,) = lines
    assert line["event"].startswith("SENTRY_DSN is set, but sentry-sdk is not installed")


def test_the_applications_own_settings_stay(told: list[Any], monkeypatch: Any) -> None:
    """Who has set it up has done it better than we can."""
    monkeypatch.setenv("SENTRY_DSN", "http://other@127.0.0.1:9/2")
    sentry.begin()

    assert sentry_sdk.get_client().dsn == "http://key@127.0.0.1:9/1"


def test_address_that_is_none(monkeypatch: Any) -> None:
    """It is told before anything runs."""
    monkeypatch.setenv("SENTRY_DSN", "nonsense")
    with pytest.raises(InvalidArgumentError, match="SENTRY_DSN: "):
        sentry.begin()
