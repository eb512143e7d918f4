"""The Queues service: requests to messages, what queues answer to responses."""

from typing import Any

import pytest

from etcdq.actors.errors import InvalidArgumentError, NoSuchQueueError
from etcdq.actors.message import Address
from etcdq.actors.queue import messages as queue
from etcdq.server.etcd import queues
from etcdq.server.etcd.context import Context
from etcdq.server.etcd.pb import queues_pb2 as pb
from tests.support.door_host import Listener, a_door

TO = Address(Listener(), 1)
CONTEXT = Context(a_door(jobs_per_queue_max=5, jobs_bytes_max=6, request_bytes_max=7))


def statistics(name: bytes = b"jobs", **fields: Any) -> queue.QueueStatistics:
    """Statistics with a different number in each field."""
    numbers = {
        field: number for number, field in enumerate(queue.QueueStatistics.__struct_fields__, 10)
    }
    numbers |= {"name": name, "exists": True, "consumers": (), "tube": tube()} | fields
    return queue.QueueStatistics(**numbers)


def tube() -> queue.TubeStatistics:
    """The same of a queue as a tube."""
    of_timing = queue.TimingStatistics.__struct_fields__
    timing = {field: number for number, field in enumerate(of_timing, 800)}
    of_tube = queue.TubeStatistics.__struct_fields__
    numbers = {field: number for number, field in enumerate(of_tube, 100)}
    return queue.TubeStatistics(**numbers | {"timing": queue.TimingStatistics(**timing)})


def consumer(held: int, held_bytes: int = 0, **fields: Any) -> queue.ConsumerStatistics:
    """Statistics of a consumer with a credit of 2 messages and 100 bytes."""
    credit = fields.pop("credit", queue.Credit(2, 100))
    stalled = fields.pop("stalled", False)
    return queue.ConsumerStatistics("uuid", "peer", held, held_bytes, credit, 3.5, stalled)


@pytest.mark.parametrize(
    ("ask", "request_", "message"),
    [
        (queues.ask_show, pb.ShowRequest(name="jobs"), queue.Show(TO)),
        (queues.ask_kick, pb.KickRequest(name="jobs", bound=3), queue.Kick(TO, 3)),
        (queues.ask_pause, pb.PauseRequest(name="jobs", pause_s=1.5), queue.Pause(TO, 1.5)),
        (queues.ask_pause, pb.PauseRequest(name="jobs"), queue.Pause(TO, 0.0)),
        (queues.ask_purge, pb.PurgeRequest(name="jobs"), queue.Purge(TO, shown=False)),
        (
            queues.ask_peek,
            pb.PeekRequest(name="jobs", state=pb.BURIED, limit=4),
            queue.Peek(TO, queue.JobState.BURIED, 4),
        ),
        (
            queues.ask_peek,
            pb.PeekRequest(name="jobs", state=pb.READY),
            queue.Peek(TO, queue.JobState.READY, 1),
        ),
    ],
)
def test_requests(ask: Any, request_: Any, message: Any) -> None:
    """Each request is one message to the queue it names."""
    asked = ask(CONTEXT, request_, TO)
    assert asked.message == message
    assert asked.handle is CONTEXT.door.queue(b"jobs")


@pytest.mark.parametrize("name", ["", "a/b", "a\nb", "x" * 201])
@pytest.mark.parametrize(
    ("ask", "request_type"),
    [
        (queues.ask_show, pb.ShowRequest),
        (queues.ask_kick, pb.KickRequest),
        (queues.ask_peek, pb.PeekRequest),
        (queues.ask_pause, pb.PauseRequest),
        (queues.ask_purge, pb.PurgeRequest),
    ],
)
def test_bad_names(ask: Any, request_type: Any, name: str) -> None:
    """What can be no queue's name is refused, and the text says what a name is."""
    with pytest.raises(InvalidArgumentError, match="1 to 200 bytes"):
        ask(CONTEXT, request_type(name=name), TO)


@pytest.mark.parametrize("pause_s", [-1.0, float("inf"), float("nan")])
def test_bad_pauses(pause_s: float) -> None:
    """A pause is a number of seconds."""
    with pytest.raises(InvalidArgumentError, match="pause_s"):
        queues.ask_pause(CONTEXT, pb.PauseRequest(name="jobs", pause_s=pause_s), TO)


def test_bad_state() -> None:
    """A state that is none is refused."""
    with pytest.raises(InvalidArgumentError, match="state"):
        queues.ask_peek(CONTEXT, pb.PeekRequest(name="jobs", state=9), TO)


def test_list() -> None:
    """Every queue that exists, by name; consumers are those of both doors."""
    census = [statistics(b"z"), statistics(b"a/b"), statistics(b"gone", exists=False)]
    door = a_door()
    object.__setattr__(door, "census", lambda: census)

    response = pb.ListResponse.FromString(queues.ask_list(Context(door), pb.ListRequest(), TO))

    assert [one.name for one in response.queues] == ["a%2Fb", "z"]
    last, found = response.queues[1], census[0]
    assert (last.consumers, last.waiting) == (found.tube.watching, found.tube.waiting)
    assert (last.ready, last.reserved, last.delayed, last.buried) == (
        found.ready,
        found.reserved,
        found.delayed,
        found.buried,
    )


@pytest.mark.parametrize("text", ["a%2Fb", "a%2fb"])
def test_a_tubes_name(text: str) -> None:
    """A queue whose name has a "/" is named as in keys."""
    asked = queues.ask_show(CONTEXT, pb.ShowRequest(name=text), TO)
    assert asked.handle is CONTEXT.door.queue(b"a/b")

    shown = pb.ShowResponse.FromString(asked.answer(CONTEXT, statistics(b"a/b"), asked))

    assert shown.summary.name == "a%2Fb"
    with pytest.raises(NoSuchQueueError, match="'a%2Fb'"):
        asked.answer(CONTEXT, statistics(b"a/b", exists=False), asked)


def test_show() -> None:
    """All that a queue counts, its consumers, and the limits in force."""
    asked = queues.ask_show(CONTEXT, pb.ShowRequest(name="jobs"), TO)
    one = statistics(consumers=(consumer(1, 99),))

    response = pb.ShowResponse.FromString(asked.answer(CONTEXT, one, asked))

    assert response.summary.name == "jobs"
    assert response.puts == one.puts_total
    assert response.deliveries == one.deliveries_total
    assert response.acknowledgements == one.acknowledged_total
    assert response.deletes == one.deleted_total
    assert response.kicks == one.kicked_total
    assert response.dropped_consumers == one.dropped_consumers_total
    assert (response.urgent, response.body_bytes) == (one.urgent, one.body_bytes)
    assert (response.oldest_age_s, response.paused_s) == (
        one.oldest_ready_age_s,
        one.pause_left_s,
    )
    assert response.dispatcher == "c"
    (shown,) = response.consumers
    assert (shown.uuid, shown.peer, shown.held_messages, shown.held_bytes) == (
        "uuid",
        "peer",
        1,
        99,
    )
    assert (shown.credit_messages, shown.credit_bytes, shown.since_s) == (2, 100, 3.5)
    limits = response.limits
    assert (limits.jobs_max, limits.jobs_bytes_max, limits.request_bytes_max) == (5, 6, 7)


def test_show_the_tube() -> None:
    """What the beanstalk door counts of the queue, and its times."""
    asked = queues.ask_show(CONTEXT, pb.ShowRequest(name="jobs"), TO)
    one = statistics(oversized_head=True)
    times = one.tube.timing

    response = pb.ShowResponse.FromString(asked.answer(CONTEXT, one, asked))

    assert response.oversized_head
    shown = response.tube
    assert (shown.using, shown.pauses, shown.reserves, shown.timeouts, shown.buries) == (
        one.tube.using,
        one.tube.pauses_total,
        one.tube.reserves_total,
        one.tube.timeouts_total,
        one.tube.buries_total,
    )
    assert shown.bury_rate == one.tube.buries_total / one.tube.reserves_total
    assert [
        (each.average_s, each.min_s, each.max_s, each.samples)
        for each in (
            shown.processing,
            shown.processing_fast,
            shown.processing_slow,
            shown.queueing,
        )
    ] == [
        (
            times.processing_ewma_s,
            times.processing_min_s,
            times.processing_max_s,
            times.processing_samples,
        ),
        (times.fast_ewma_s, 0, 0, times.fast_samples),
        (times.slow_ewma_s, 0, 0, times.slow_samples),
        (times.queue_ewma_s, times.queue_min_s, times.queue_max_s, times.queue_samples),
    ]
    assert (shown.processing_p50_s, shown.processing_p95_s, shown.processing_p99_s) == (
        times.p50_s,
        times.p95_s,
        times.p99_s,
    )


def test_show_of_no_queue() -> None:
    """A queue that does not exist is not shown."""
    asked = queues.ask_show(CONTEXT, pb.ShowRequest(name="jobs"), TO)
    with pytest.raises(NoSuchQueueError, match="jobs"):
        asked.answer(CONTEXT, statistics(exists=False), asked)


@pytest.mark.parametrize("state", list(queue.JobState))
def test_peek(state: queue.JobState) -> None:
    """A job is shown with all that is known of it."""
    asked = queues.ask_peek(CONTEXT, pb.PeekRequest(name="jobs"), TO)
    job = queue.JobView(1, 2, b"key", b"tail", b"body", 3, state, 4.0, 5.0, 6.0, "holder")
    answer = asked.answer(CONTEXT, queue.Listing((job,), 1), asked)
    (shown,) = pb.PeekResponse.FromString(answer).jobs
    assert (shown.job_id, shown.index, shown.key, shown.body) == (1, 2, b"key", b"body")
    assert (shown.priority, shown.delay_s, shown.ttr_s, shown.age_s) == (3, 4.0, 5.0, 6.0)
    assert (pb.JobState.Name(shown.state), shown.holder) == (state.name, "holder")


def test_counts() -> None:
    """Kick and purge say how many; a pause says nothing."""
    asked = queues.ask_kick(CONTEXT, pb.KickRequest(name="jobs", bound=9), TO)
    answer = asked.answer(CONTEXT, queue.Kicked(4), asked)
    assert pb.KickResponse.FromString(answer).kicked == 4
    asked = queues.ask_purge(CONTEXT, pb.PurgeRequest(name="jobs"), TO)
    answer = asked.answer(CONTEXT, queue.Deleted((), 5), asked)
    assert pb.PurgeResponse.FromString(answer).deleted == 5
    asked = queues.ask_pause(CONTEXT, pb.PauseRequest(name="jobs"), TO)
    assert asked.answer(CONTEXT, queue.Paused(), asked) == b""
