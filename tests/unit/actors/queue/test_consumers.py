"""Credit and turns of registered consumers."""

from etcdq.actors.queue.consumers import Consumer, Roster
from etcdq.actors.queue.job import RESERVED, Job
from etcdq.actors.queue.messages import Credit
from tests.support.queue_book import watch


def hold(consumer: Consumer, index: int, body: bytes) -> Job:
    job = Job(index, index, b"jobs", b"k", b"k", body, 1024, 0.0, RESERVED, consumer)
    consumer.held[index] = job
    consumer.held_bytes += len(body)
    return job


def test_credit_counts_messages_and_bytes() -> None:
    """Both limits hold; 0 is none; with empty hands everything fits."""
    consumer = Consumer("c1", 1, 0.0, watch("w1"))
    for credit, fits in (
        (Credit(2, 0), True),
        (Credit(1, 0), False),
        (Credit(0, 9), False),
        (Credit(0, 10), True),
        (Credit(0, 0), True),
    ):
        consumer.credit = credit
        assert consumer.has_credit(99)
        job = hold(consumer, 1, b"12345")
        assert consumer.has_credit(5) is fits
        consumer.let_go(job)


def test_turns_go_by_rank_and_come_back_with_wake() -> None:
    """A consumer without credit leaves the turn to the next until something changes."""
    roster = Roster()
    first = roster.add("c1", watch("w1"), 0.0)
    second = roster.add("c2", watch("w2"), 0.0)
    first.credit = Credit(1, 0)
    assert roster.first_open(1) is first
    job = hold(first, 1, b"x")
    assert roster.first_open(1) is second
    first.let_go(job)
    assert roster.first_open(1) is second
    roster.wake(first)
    assert roster.first_open(1) is first


def test_finding_the_next_consumer_does_not_walk_the_full_ones() -> None:
    """Each consumer without credit is looked at once, not once per message."""
    roster = Roster()
    for number in range(100):
        consumer = roster.add(f"c{number}", watch(f"w{number}"), 0.0)
        consumer.credit = Credit(1, 0)
        if number < 99:
            hold(consumer, number, b"x")
    assert roster.first_open(1) is consumer
    assert len(roster._open) == 1


def test_who_left_is_not_kept() -> None:
    """Consumers that come and go behind one that is first in line leave nothing behind."""
    roster = Roster()
    first = roster.add("c0", watch("w0"), 0.0)
    for number in range(1, 10_000):
        consumer = roster.add(f"c{number}", watch(f"w{number}"), 0.0)
        roster.end_watch(consumer, watch(f"w{number}"))
        roster.remove(consumer)

    assert len(roster._open) < 500
    assert roster.first_open(1) is first


def test_who_stays_keeps_its_turn() -> None:
    """What goes with those that left are only they: the others' turns are as before."""
    roster = Roster()
    stay = [roster.add(f"s{number}", watch(f"s{number}"), 0.0) for number in range(3)]
    for number in range(1_000):
        consumer = roster.add("c", watch(f"w{number}"), 0.0)
        roster.end_watch(consumer, watch(f"w{number}"))
        roster.remove(consumer)
    again = roster.add("c", watch("again"), 0.0)

    turns = []
    for number in range(4):
        consumer = roster.first_open(1)
        assert consumer is not None
        turns.append(consumer)
        consumer.credit = Credit(1, 0)
        hold(consumer, number, b"x")

    assert turns == [*stay, again]


def test_a_smaller_head_opens_who_lacked_only_bytes() -> None:
    """A consumer without room for a large job takes a small one, without letting go of any."""
    roster = Roster()
    consumer = roster.add("c1", watch("w1"), 0.0)
    other = roster.add("c2", watch("w2"), 0.0)
    consumer.credit, other.credit = Credit(3, 10), Credit(1, 10)
    hold(consumer, 1, b"x" * 6)
    hold(other, 2, b"x")
    assert roster.first_open(5) is None
    assert roster.first_open(5) is None
    assert roster.first_open(4) is consumer
    assert roster.first_open(6) is None
    assert roster.first_open(5) is None
    hold(consumer, 3, b"x" * 3)
    assert roster.first_open(2) is None
    assert roster.first_open(1) is consumer


def test_who_is_short_is_noted_once_and_forgotten_with_its_end() -> None:
    """What is noted of consumers that lack bytes is bounded by who is registered."""
    roster = Roster()
    consumer = roster.add("c1", watch("w1"), 0.0)
    consumer.credit = Credit(0, 10)
    job = hold(consumer, 1, b"x" * 6)
    for _ in range(100):
        assert roster.first_open(5) is None
        roster.wake(consumer)
    assert len(roster._short) == 1
    del consumer.held[job.index]
    roster.end_watch(consumer, watch("w1"))
    roster.remove(consumer)
    assert roster._short == {}
    assert roster.first_open(1) is None
