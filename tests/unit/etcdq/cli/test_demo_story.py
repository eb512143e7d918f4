"""How the demo counts, and when it says that nothing is lost."""

from dataclasses import replace

from trio.testing import MockClock

from etcdq import QueueStatistics, QueueSummary, TubeStatistics
from etcdq.cli.demo_story import Story

STATISTICS = QueueStatistics(
    summary=QueueSummary("demo", 0, 0, 0, buried=1, consumers=2, waiting=2),
    urgent=0,
    puts_total=3,
    deliveries_total=3,
    acknowledged_total=2,
    deleted_total=0,
    kicked_total=0,
    dropped_consumers_total=1,
    body_bytes=1,
    oldest_age_s=0.0,
    oversized_head=False,
    paused_s=0.0,
    dispatcher="1",
    consumers=(),
    tube=TubeStatistics(*[0] * 21),
    jobs_max=0,
    jobs_bytes_max=0,
    request_bytes_max=0,
)


def three_messages(clock: MockClock) -> Story:
    """Consumer 1 acknowledges one, stops with one in hand, and one is stuck on its way to it."""
    story = Story()
    story.begin()
    for key in (b"a", b"b", b"c"):
        story.note_put(key)
    story.note_ack(1, b"a")
    clock.jump(3)
    story.note_stall()
    story.note_held_by_stalled(frozenset((b"b", b"c")))
    clock.jump(5)
    return story


async def test_everything_adds_up(mock_clock: MockClock) -> None:
    """Acknowledged by somebody or buried, each once: the summary says so."""
    story = three_messages(mock_clock)
    story.note_statistics(STATISTICS, producing=True)
    story.note_ack(3, b"c")
    assert not story.finished.is_set()

    story.note_statistics(STATISTICS, producing=False)

    assert story.finished.is_set()
    assert story.summary().splitlines()[1:] == [
        "3 messages put, 2 acknowledged: 1 by consumer 1, 0 by consumer 2, 1 by consumer 3.",
        "Consumer 1 stopped reading at 3.0 s and was dropped at 8.0 s.",
        "A message that was stuck on its way to it moved on to consumer 3.",
        "What it had taken and not acknowledged is buried: 1"
        " (`etcdq queue kick` would return it to the line).",
        "3 = 2 acknowledged + 1 buried: nothing is lost.",
    ]


async def test_a_lost_message_is_seen(mock_clock: MockClock) -> None:
    """One that is neither acknowledged nor buried spoils the sum."""
    story = three_messages(mock_clock)

    story.note_statistics(STATISTICS, producing=False)

    assert not story.adds_up
    assert story.summary().endswith("3 put, 1 acknowledged + 1 buried, dropped: True.")


async def test_a_message_twice_is_seen(mock_clock: MockClock) -> None:
    """Two acknowledgements of one message do not stand in for another message."""
    story = three_messages(mock_clock)
    story.note_ack(2, b"a")

    story.note_statistics(STATISTICS, producing=False)

    assert story.acknowledged_count + story.buried_count == 3
    assert not story.adds_up


async def test_without_a_drop_it_is_no_success(mock_clock: MockClock) -> None:
    """The drop is what the demo is about."""
    story = three_messages(mock_clock)
    story.note_ack(3, b"c")

    story.note_statistics(replace(STATISTICS, dropped_consumers_total=0), producing=False)

    assert not story.adds_up


async def test_rates_are_of_the_last_second(mock_clock: MockClock) -> None:
    """What happened longer ago is counted, and not in the rate."""
    story = three_messages(mock_clock)
    story.note_ack(2, b"b")

    assert (story.put.count, story.put.per_second()) == (3, 0)
    assert (story.acknowledged[2].count, story.acknowledged[2].per_second()) == (1, 1)
    assert list(story.rows())[1] == ("consumer 1", "1", "0", "stopped reading 5.0 s ago")
