"""Acknowledgements, the end of a watch and the kick, sentence by sentence of the rules."""

from etcdq.actors.effect import Log
from etcdq.actors.queue import messages as m
from tests.support.queue_book import (
    ASKER,
    FIRST,
    QueueBook,
    accepted,
    acknowledge,
    indexes,
    left,
    offer,
    put,
    watch,
)

# acknowledgement ----------------------------------------------------------------------------


def test_acknowledged_is_gone_for_ever() -> None:
    """Delete of the delivery key removes the job; the second time there is none."""
    book = QueueBook().fill(1)
    book.enter("c1", "w1")
    book >> accepted("w1", (FIRST,))
    assert indexes(book.ask(acknowledge(FIRST))) == [FIRST]
    assert book.ask(acknowledge(FIRST)) == m.Deleted((), 0)
    shown = book.shown()
    assert (shown.acknowledged_total, shown.deleted_total) == (1, 0)
    assert (shown.ready, shown.reserved, shown.delayed, shown.buried) == (0, 0, 0, 0)


def test_what_an_acknowledgement_shows_is_the_job_as_it_was() -> None:
    """prev_kv works: key, tail, body, state and holder are those before the delete."""
    book = QueueBook()
    book >> put(b"client/k", b"body", tail=b"k", priority=7, ttr_s=3.0)
    book.enter("c1", "w1")
    book.at(2.0) >> accepted("w1", (FIRST,))
    assert book.ask(acknowledge(FIRST)).jobs == (
        m.JobView(
            job_id=1,
            index=FIRST,
            key=b"client/k",
            tail=b"k",
            body=b"body",
            priority=7,
            state=m.JobState.RESERVED,
            ttr_s=3.0,
            age_s=2.0,
            holder="c1",
        ),
    )


def test_the_whole_delivery_key_is_the_token() -> None:
    """An index with another tail hits nothing."""
    assert QueueBook().fill(1).ask(acknowledge(FIRST, b"other")) == m.Deleted((), 0)


def test_a_waiting_job_can_be_deleted_by_its_delivery_key() -> None:
    """The key exists while the job waits; its delete is a delete, not an acknowledgement."""
    book = QueueBook().fill(2)
    assert indexes(book.ask(acknowledge(FIRST))) == [FIRST]
    assert book.shown().deleted_total == 1
    assert book.enter("c1", "w1") == [offer("w1", FIRST + 1).message]


def test_an_offered_job_can_be_deleted_before_the_offer_is_answered() -> None:
    """The answer that comes later names it and does no harm."""
    book = QueueBook().fill(2)
    book.enter("c1", "w1")
    assert indexes(book.ask(acknowledge(FIRST))) == [FIRST]
    book >> accepted("w1", (FIRST,), (), (FIRST + 1,)) << [offer("w1", FIRST + 1)]
    book >> acknowledge(FIRST + 1) >> accepted("w1", (), (), (FIRST + 1,))
    assert book.told() == []
    assert book.shown().reserved == 0


def test_acknowledging_gives_credit_back() -> None:
    """Each acknowledgement lets one more message go to the consumer."""
    book = QueueBook(credit=m.Credit(1, 0)).fill(2)
    book.enter("c1", "w1")
    book >> accepted("w1", (FIRST,))
    assert book.told() == []
    book >> acknowledge(FIRST)
    assert book.told() == [offer("w1", FIRST + 1).message]


# the end of a watch -------------------------------------------------------------------------


def test_what_a_dropped_consumer_had_not_taken_goes_on_in_order() -> None:
    """Its stalled message returns to its place in the line and to the next consumer."""
    book = QueueBook().fill(3)
    book.enter("c1", "w1")
    book.enter("c2", "w2", m.Credit(1, 0))
    book >> accepted("w1", (FIRST,), (FIRST + 1,), (FIRST + 2,)) << [offer("w2", FIRST + 2)]
    book >> accepted("w2", (), (), (FIRST + 2,)) >> m.Ended(watch("w1"), dropped=True)
    assert book.told() == [offer("w2", FIRST + 1).message]
    assert book.shown().dropped_consumers_total == 1


def test_the_end_of_a_watch_resolves_its_offer() -> None:
    """An offer that crossed the watch's end needs no other answer."""
    book = QueueBook().fill(2)
    book.enter("c1", "w1")
    book.enter("c2", "w2")
    book >> m.Ended(watch("w1")) << [left("c1"), offer("w2", FIRST, FIRST + 1)]


def test_an_end_can_say_what_was_taken_of_the_offer() -> None:
    """Those are handed over, so they are buried with the consumer; the others go on."""
    book = QueueBook().fill(2)
    book.enter("c1", "w1")
    book >> m.Ended(watch("w1"), (FIRST,))
    book.end_batch()
    assert indexes(book.ask(m.Peek(ASKER, m.JobState.BURIED, 9))) == [FIRST]
    assert indexes(book.ask(m.Look(ASKER))) == [FIRST + 1]


def test_a_drop_is_logged() -> None:
    """People read which consumer of which queue was dropped."""
    book = QueueBook()
    book.enter("c1", "w1")
    fields = {"queue": "jobs", "consumer": "c1", "peer": ""}
    log = Log("warning", "dropped a consumer that made no progress", fields)
    book >> m.Ended(watch("w1"), dropped=True) << [log, left("c1")]


def test_what_was_taken_is_buried_when_the_consumer_ends() -> None:
    """It is not handed over again: stats count it, peek-buried shows it."""
    book = QueueBook().fill(2)
    book.enter("c1", "w1")
    book >> accepted("w1", (FIRST, FIRST + 1)) >> m.Ended(watch("w1"))
    book.end_batch()
    assert book.enter("c2", "w2") == []
    assert (book.shown().buried, book.shown().buried_total) == (2, 2)
    buried = book.ask(m.Peek(ASKER, m.JobState.BURIED, 10))
    assert indexes(buried) == [FIRST, FIRST + 1]
    assert [job.holder for job in buried.jobs] == ["", ""]


def test_a_late_acknowledgement_of_a_buried_job_works() -> None:
    """The key stays good after its consumer ended, until the job is handed out again."""
    book = QueueBook().fill(1)
    book.enter("c1", "w1")
    book >> accepted("w1", (FIRST,)) >> m.Ended(watch("w1"))
    book.end_batch()
    assert indexes(book.ask(acknowledge(FIRST))) == [FIRST]
    assert (book.shown().buried, book.shown().acknowledged_total) == (0, 1)


def test_a_kick_returns_buried_jobs_with_new_indexes() -> None:
    """They go to the end of the line, and an acknowledgement of the old index hits nothing."""
    book = QueueBook().fill(1)
    book.enter("c1", "w1")
    book >> accepted("w1", (FIRST,)) >> m.Ended(watch("w1")) >> put()
    book.end_batch()
    assert book.ask(m.Kick(ASKER, 10)) == m.Kicked(1)
    assert book.ask(acknowledge(FIRST)) == m.Deleted((), 0)
    assert book.enter("c2", "w2") == [offer("w2", FIRST + 1, FIRST + 2).message]
    assert book.shown().kicked_total == 1


def test_a_kick_is_bounded_and_takes_the_oldest_burials() -> None:
    """Up to `bound` jobs, in the order in which they were buried."""
    book = QueueBook().fill(3)
    book.enter("c1", "w1")
    book >> accepted("w1", (FIRST, FIRST + 1, FIRST + 2)) >> m.Ended(watch("w1"))
    book.end_batch()
    assert book.ask(m.Kick(ASKER, 2)) == m.Kicked(2)
    assert indexes(book.ask(m.Peek(ASKER, m.JobState.BURIED, 10))) == [FIRST + 2]


def test_a_kick_takes_delayed_jobs_only_if_none_are_buried() -> None:
    """Buried ones first; the delayed ones, soonest first, at the next kick, with their index."""
    book = QueueBook().fill(1)
    book.enter("c1", "w1")
    book >> accepted("w1", (FIRST,)) >> m.Ended(watch("w1"))
    book >> put(delay_s=9.0) >> put(delay_s=5.0)
    book.end_batch()
    assert book.ask(m.Kick(ASKER, 10)) == m.Kicked(1)
    assert book.ask(m.Kick(ASKER, 1)) == m.Kicked(1)
    shown = book.ask(m.Look(ASKER))
    assert [(job.index - FIRST, job.delay_s) for job in shown.jobs] == [(1, 9.0), (2, 5.0), (3, 0)]
