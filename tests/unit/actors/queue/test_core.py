"""Puts, deliveries and acknowledgements of one queue, sentence by sentence of the rules."""

import pytest

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Log, Stop, Tell
from etcdq.actors.errors import DrainingError, OverLimitError
from etcdq.actors.queue import messages as m
from etcdq.actors.queue.core import QueueCore
from tests.support.playbook import Named
from tests.support.queue_book import (
    ASKER,
    BORN,
    FIRST,
    REAPED,
    QueueBook,
    accepted,
    acknowledge,
    entered,
    left,
    offer,
    put,
    register,
    reply,
    watch,
)


def indexes(listing: m.Listing | m.Deleted) -> list[int]:
    return [job.index for job in listing.jobs]


# birth and death ----------------------------------------------------------------------------


def test_the_first_put_creates_the_queue() -> None:
    """The registry key is written by the first put and by no later one."""
    book = QueueBook()
    book >> put() << [BORN, reply(m.Inserted(1, FIRST))]
    book >> put() << [reply(m.Inserted(2, FIRST + 1))]


def test_the_first_watch_creates_the_queue() -> None:
    """A registration on a name never used writes both registry keys."""
    QueueBook() >> register("c1", "w1") << [reply(m.Registered()), BORN, entered("c1")]


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        (m.ReadKey(ASKER, b"k"), m.Listing((), 0)),
        (m.DeleteKey(ASKER, b"k"), m.Deleted(())),
        (acknowledge(FIRST), m.Deleted(())),
        (m.Look(ASKER), m.Listing((), 0)),
        (m.Look(ASKER, holder="c1"), m.Listing((), 0)),
        (m.ReadDelivery(ASKER, FIRST, b"k"), m.Listing((), 0)),
        (m.Purge(ASKER), m.Deleted(())),
        (m.Kick(ASKER, 10), m.Kicked(0)),
        (m.Peek(ASKER, m.JobState.READY, 10), m.Listing((), 0)),
        (m.Pause(ASKER, 1.0), m.Paused()),
    ],
)
def test_nothing_but_a_put_or_a_watch_creates_a_queue(message: object, answer: object) -> None:
    """Every other request is answered as for an empty queue, and the core asks to be stopped."""
    QueueBook() >> message << [reply(answer), Stop()]


def test_a_queue_that_was_only_looked_at_does_not_exist() -> None:
    """Show on an unused name says so, and leaves nothing."""
    book = QueueBook()
    book >> m.Show(ASKER)
    answer, stop = book.end_batch()
    assert answer.value.exists is False
    assert stop == Stop()


def test_a_word_of_a_watch_to_a_reaped_queue_creates_nothing() -> None:
    """What a watch still says to a queue that forgot it is ignored."""
    for message in (accepted("w1"), m.Taken(watch("w1"), ()), m.Ended(watch("w1"))):
        QueueBook() >> message << [Stop()]


def test_a_refused_put_creates_nothing() -> None:
    """A queue is not created by a put it did not take."""
    book = QueueBook()
    book.context.draining = True
    book >> put()
    assert book.end_batch()[-1] == Stop()


def test_an_idle_queue_is_reaped_exactly_at_600_s() -> None:
    """No job, no consumer and no use for ten minutes: the registry key goes, the core stops."""
    book = QueueBook().at(10.0)
    book >> put() >> acknowledge(FIRST)
    book.end_batch()
    assert book.queue.next_deadline_s() == 610.0
    book.at(609.999) << []
    book.at(610.0) << [REAPED, Stop()]


@pytest.mark.parametrize("keeper", ["a waiting job", "a buried job", "a consumer", "use"])
def test_what_keeps_a_queue_from_being_reaped(keeper: str) -> None:
    """Jobs, buried ones too, consumers and use keep a queue alive."""
    book = QueueBook()
    book >> put()
    if keeper == "a buried job":
        (
            book
            >> register("c1", "w1")
            << [
                BORN,
                reply(m.Inserted(1, FIRST)),
                reply(m.Registered()),
                entered("c1"),
                offer("w1", FIRST),
            ]
        )
        book >> accepted("w1", (FIRST,)) >> m.Ended(watch("w1"))
    elif keeper == "a consumer":
        book >> acknowledge(FIRST) >> register("c1", "w1")
    elif keeper == "use":
        book >> acknowledge(FIRST)
        book.end_batch()
        book.at(599.0) >> m.Kick(ASKER, 1)
    book.end_batch()
    book.at(600.0) << []
    assert book.shown().exists


def test_a_pause_is_use_until_it_ends() -> None:
    """An empty queue that is paused is reaped after the pause, not in it."""
    book = QueueBook()
    book >> put() >> acknowledge(FIRST) >> m.Pause(ASKER, 1000.0)
    book.end_batch()
    assert book.queue.next_deadline_s() == 1600.0


# order and consumers ------------------------------------------------------------------------


def test_jobs_wait_and_go_to_the_first_consumer_that_registers() -> None:
    """Messages wait while nobody consumes and are offered in the order of their puts."""
    book = QueueBook().fill(3)
    (
        book
        >> register("c1", "w1")
        << [
            reply(m.Registered()),
            entered("c1"),
            offer("w1", FIRST, FIRST + 1, FIRST + 2),
        ]
    )


def test_lower_priorities_leave_first() -> None:
    """The order is priority, then index."""
    book = QueueBook()
    for priority in (1024, 5, 1024, 0, 5):
        book >> put(priority=priority)
    book.end_batch()
    (told,) = book.enter("c1", "w1")
    assert [d.index - FIRST for d in told.deliveries] == [3, 1, 4, 0, 2]


def test_no_balancing_among_consumers() -> None:
    """Each job goes to the first registered consumer that accepts it, the second gets none."""
    book = QueueBook()
    book.enter("c1", "w1")
    book.enter("c2", "w2")
    for turn in range(3):
        index = FIRST + turn
        book >> put() << [reply(m.Inserted(turn + 1, index)), offer("w1", index)]
        book >> accepted("w1", (index,)) << []


def test_one_unresolved_offer_at_a_time() -> None:
    """Nothing more is offered to anyone until the offer is answered: the order stays strict."""
    book = QueueBook().fill(1)
    book.enter("c1", "w1")
    book.enter("c2", "w2")
    book >> put() << [reply(m.Inserted(2, FIRST + 1))]
    book >> accepted("w1", (FIRST,)) << [offer("w1", FIRST + 1)]


def test_what_is_declined_goes_on_in_its_order_to_the_next_consumer() -> None:
    """A stalled consumer is passed over; the declined jobs keep their indexes and order."""
    book = QueueBook().fill(3)
    book.enter("c1", "w1")
    book.enter("c2", "w2")
    (
        book
        >> accepted("w1", (), (FIRST,), (FIRST + 1, FIRST + 2))
        << [offer("w2", FIRST + 1, FIRST + 2)]
    )


def test_nothing_is_offered_to_a_stalled_consumer() -> None:
    """While a message could not be written at once nothing further is offered to it."""
    book = QueueBook().fill(2)
    book.enter("c1", "w1")
    book >> accepted("w1", (), (FIRST,), (FIRST + 1,)) << []
    book >> m.Taken(watch("w1"), (FIRST,)) << [offer("w1", FIRST + 1)]


def test_a_stalled_consumer_stays_stalled_when_its_job_is_deleted() -> None:
    """Its connection still has the bytes, whatever became of the job."""
    book = QueueBook().fill(2)
    book.enter("c1", "w1")
    book >> accepted("w1", (), (FIRST,), (FIRST + 1,)) >> acknowledge(FIRST)
    assert book.told() == []
    book >> m.Taken(watch("w1"), (FIRST,)) << [offer("w1", FIRST + 1)]


def test_credit_in_messages() -> None:
    """A consumer holds at most its credit of unacknowledged messages; the next gets the rest."""
    book = QueueBook(credit=m.Credit(2, 0)).fill(3)
    assert book.enter("c1", "w1") == [offer("w1", FIRST, FIRST + 1).message]
    book >> accepted("w1", (FIRST, FIRST + 1)) << []
    book >> acknowledge(FIRST)
    assert book.told() == [offer("w1", FIRST + 2).message]


def test_credit_in_bytes() -> None:
    """A consumer holds at most its credit of bytes; further messages go to the next consumer."""
    book = QueueBook(credit=m.Credit(0, 9)).fill(3)
    assert book.enter("c1", "w1") == [offer("w1", FIRST, FIRST + 1).message]
    book.enter("c2", "w2")
    book >> accepted("w1", (FIRST, FIRST + 1)) << [offer("w2", FIRST + 2)]


def test_one_message_is_always_allowed() -> None:
    """A message larger than the credit in bytes is offered to a consumer that holds nothing."""
    book = QueueBook(credit=m.Credit(0, 1)).fill(2)
    assert book.enter("c1", "w1") == [offer("w1", FIRST).message]
    book >> accepted("w1", (FIRST,)) << []
    book >> acknowledge(FIRST)
    assert book.told() == [offer("w1", FIRST + 1).message]


def test_a_consumer_without_credit_waits_for_its_own_acknowledgement() -> None:
    """A message there is no room for closes a consumer until it lets go, also for small ones."""
    book = QueueBook(credit=m.Credit(0, 5))
    book >> put() >> put() >> put(body=b"b")
    book.end_batch()
    book.enter("c1", "w1")
    book.enter("c2", "w2")
    (
        book
        >> accepted("w1", (FIRST,))
        << [
            Tell(
                Named("session"),
                m.Offer(
                    watch("w2"),
                    (m.Delivery(FIRST + 1, b"k", b"body"), m.Delivery(FIRST + 2, b"k", b"b")),
                ),
            )
        ]
    )


def test_credit_0_is_no_limit_but_an_offer_has_one() -> None:
    """Without credit limits one offer still has a bounded size, and the next follows it."""
    book = QueueBook(credit=m.Credit(0, 0)).fill(limits.OFFER_MESSAGES_MAX + 1)
    (told,) = book.enter("c1", "w1")
    taken = tuple(delivery.index for delivery in told.deliveries)
    assert len(taken) == limits.OFFER_MESSAGES_MAX
    book >> accepted("w1", taken) << [offer("w1", FIRST + limits.OFFER_MESSAGES_MAX)]


def test_a_consumer_may_have_its_own_credit() -> None:
    """The credit of a registration wins over the node's."""
    book = QueueBook().fill(3)
    assert book.enter("c1", "w1", m.Credit(1, 0)) == [offer("w1", FIRST).message]


# acknowledgement ----------------------------------------------------------------------------


def test_acknowledged_is_gone_for_ever() -> None:
    """Delete of the delivery key removes the job; the second time there is none."""
    book = QueueBook().fill(1)
    book.enter("c1", "w1")
    book >> accepted("w1", (FIRST,))
    assert indexes(book.ask(acknowledge(FIRST))) == [FIRST]
    assert book.ask(acknowledge(FIRST)) == m.Deleted(())
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
    assert QueueBook().fill(1).ask(acknowledge(FIRST, b"other")) == m.Deleted(())


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
    assert book.ask(acknowledge(FIRST)) == m.Deleted(())
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
    """Buried ones first; the delayed ones, soonest first, at the next kick."""
    book = QueueBook().fill(1)
    book.enter("c1", "w1")
    book >> accepted("w1", (FIRST,)) >> m.Ended(watch("w1"))
    book >> put(delay_s=9.0) >> put(delay_s=5.0)
    book.end_batch()
    assert book.ask(m.Kick(ASKER, 10)) == m.Kicked(1)
    assert book.ask(m.Kick(ASKER, 1)) == m.Kicked(1)
    shown = book.ask(m.Look(ASKER))
    assert [(job.index - FIRST, job.delay_s) for job in shown.jobs] == [(1, 9.0), (3, 0), (4, 5.0)]


# takeover -----------------------------------------------------------------------------------


def test_a_newer_watch_takes_over_and_the_older_is_told() -> None:
    """The consumer keeps its registry key; the old watch hears that it is superseded."""
    book = QueueBook()
    book.enter("c1", "w1")
    (
        book
        >> register("c1", "w2")
        << [
            reply(m.Registered()),
            Tell(Named("session"), m.Superseded(watch("w1"))),
        ]
    )
    book >> m.Ended(watch("w1")) << []
    book >> put() << [reply(m.Inserted(1, FIRST)), offer("w2", FIRST)]


def test_a_takeover_keeps_the_rank() -> None:
    """What the old watch had not taken goes to the new one, before the second consumer."""
    book = QueueBook().fill(2)
    book.enter("c1", "w1")
    book.enter("c2", "w2")
    book.enter("c1", "w3")
    book >> m.Ended(watch("w1")) << [offer("w3", FIRST, FIRST + 1)]


def test_a_takeover_keeps_what_is_held() -> None:
    """Taken jobs stay with the consumer: not buried, not offered again, still using credit."""
    book = QueueBook(credit=m.Credit(1, 0)).fill(2)
    book.enter("c1", "w1")
    book >> accepted("w1", (FIRST,))
    book.enter("c1", "w2")
    book >> m.Ended(watch("w1")) << []
    assert indexes(book.ask(m.Look(ASKER, holder="c1"))) == [FIRST]
    book >> acknowledge(FIRST)
    assert book.told() == [offer("w2", FIRST + 1).message]


def test_the_new_watch_waits_for_the_end_of_the_old_one() -> None:
    """It is offered nothing before, while other consumers are served."""
    book = QueueBook()
    book.enter("c1", "w1")
    book.enter("c1", "w2")
    book >> put() << [reply(m.Inserted(1, FIRST))]
    book.enter("c2", "w3")
    book >> accepted("w3", (FIRST,)) >> put()
    assert book.told() == [offer("w3", FIRST + 1).message]
    book >> accepted("w3", (FIRST + 1,)) >> m.Ended(watch("w1")) >> put()
    assert book.told() == [offer("w2", FIRST + 2).message]


def test_the_word_of_a_superseded_watch_counts_until_its_end() -> None:
    """Accepted and Taken that crossed the takeover are heard."""
    book = QueueBook().fill(2)
    book.enter("c1", "w1")
    book.enter("c1", "w2")
    book >> accepted("w1", (FIRST,), (FIRST + 1,)) << []
    book >> m.Taken(watch("w1"), (FIRST + 1,)) << []
    book >> m.Ended(watch("w1")) << []
    assert book.shown().deliveries_total == 2
    assert book.ask(m.Look(ASKER, holder="c1")).count == 2


def test_several_takeovers_before_the_first_end() -> None:
    """Every older watch has to end before the newest is served; nothing is lost."""
    book = QueueBook().fill(1)
    book.enter("c1", "w1")
    book.enter("c1", "w2")
    book.enter("c1", "w3")
    book >> m.Ended(watch("w2")) << []
    book >> m.Ended(watch("w1")) << [offer("w3", FIRST)]


def test_a_consumer_ends_when_its_last_watch_ends() -> None:
    """With an older watch still leaving, the end of the newest is not yet the consumer's."""
    book = QueueBook()
    book.enter("c1", "w1")
    book.enter("c1", "w2")
    book >> m.Ended(watch("w2")) << []
    book >> m.Ended(watch("w1")) << [left("c1")]


def test_a_watch_that_is_over_is_ignored() -> None:
    """Whatever it says after its end changes nothing."""
    book = QueueBook()
    book.enter("c1", "w1")
    book.enter("c1", "w2")
    book >> m.Ended(watch("w1"))
    book.end_batch()
    for message in (
        m.Ended(watch("w1"), dropped=True),
        accepted("w1", (FIRST,)),
        m.Taken(watch("w1"), (FIRST,)),
    ):
        book >> message << []
    assert book.shown().dropped_consumers_total == 0


def test_a_consumer_that_comes_back_after_its_end_is_new() -> None:
    """It has the last rank, and what it had held stays buried."""
    book = QueueBook().fill(1)
    book.enter("c1", "w1")
    book.enter("c2", "w2")
    book >> accepted("w1", (FIRST,)) >> m.Ended(watch("w1"))
    book.end_batch()
    book.enter("c1", "w3")
    book >> put()
    assert book.told() == [offer("w2", FIRST + 1).message]
    assert book.shown().buried == 1


def test_an_address_names_one_watch_for_ever() -> None:
    """A second registration of a living watch is our bug, not a takeover."""
    book = QueueBook()
    book.enter("c1", "w1")
    with pytest.raises(AssertionError, match="one watch for ever"):
        book >> register("c1", "w1")


# delay and pause ----------------------------------------------------------------------------


def test_a_delayed_job_is_ready_at_its_exact_instant() -> None:
    """Not a moment before, and without any message coming."""
    book = QueueBook()
    book.enter("c1", "w1")
    book.at(1.0) >> put(delay_s=2.5) << [reply(m.Inserted(1, FIRST))]
    assert book.queue.next_deadline_s() == 3.5
    book.at(3.499) << []
    book.at(3.5) << [offer("w1", FIRST)]


def test_delayed_jobs_enter_at_the_place_of_their_index() -> None:
    """A delay that is over puts a job before later puts of its priority."""
    book = QueueBook()
    book >> put(delay_s=2.0) >> put(delay_s=1.0) >> put()
    book.end_batch()
    book.at(2.0)
    assert book.enter("c1", "w1") == [offer("w1", FIRST, FIRST + 1, FIRST + 2).message]


def test_a_deleted_delayed_job_is_forgotten() -> None:
    """Its instant passes and nothing happens."""
    book = QueueBook()
    book >> put(delay_s=2.0) >> put(delay_s=4.0) >> acknowledge(FIRST)
    book.end_batch()
    assert book.queue.next_deadline_s() == 4.0
    assert book.shown().delayed == 1


def test_nothing_is_handed_out_while_paused() -> None:
    """The pause ends exactly when it should."""
    book = QueueBook()
    book.enter("c1", "w1")
    book >> m.Pause(ASKER, 3.0) >> put() << [reply(m.Paused()), reply(m.Inserted(1, FIRST))]
    assert book.shown().pause_left_s == 3.0
    assert book.queue.next_deadline_s() == 3.0
    book.at(2.999) << []
    book.at(3.0) << [offer("w1", FIRST)]


def test_a_pause_of_0_ends_a_pause() -> None:
    """What waits is handed out at once."""
    book = QueueBook().fill(1)
    book >> m.Pause(ASKER, 3600.0)
    assert book.enter("c1", "w1") == []
    book >> m.Pause(ASKER, 0.0) << [reply(m.Paused()), offer("w1", FIRST)]
    assert book.shown().pause_left_s == 0.0


# limits -------------------------------------------------------------------------------------


def test_max_jobs_size_names_itself() -> None:
    """A put over the node's budget is refused with the limit's flag; deleting makes room."""
    cost_bytes = limits.JOB_OVERHEAD_BYTES + len(b"k") + len(b"body")
    book = QueueBook(budget_bytes=2 * cost_bytes).fill(2)
    refusal = book.ask(put())
    assert refusal == OverLimitError(
        f"the node's jobs take all of --max-jobs-size ({2 * cost_bytes} bytes)"
    )
    assert indexes(book.ask(acknowledge(FIRST))) == [FIRST]
    assert book.context.budget.used_bytes == cost_bytes
    assert book.ask(put()) == m.Inserted(3, FIRST + 2)


def test_the_budget_is_shared_by_all_queues() -> None:
    """Jobs of another queue count."""
    cost_bytes = limits.JOB_OVERHEAD_BYTES + len(b"k") + len(b"body")
    book = QueueBook(budget_bytes=cost_bytes)
    QueueCore(b"other", book.context).step(put(), 0.0)
    assert isinstance(book.ask(put()), OverLimitError)


def test_max_jobs_per_queue_names_itself() -> None:
    """A put over the queue's limit is refused with the limit's flag; buried jobs count."""
    book = QueueBook(max_jobs=1).fill(1)
    text = "the queue has all of --max-jobs-per-queue (1 jobs)"
    assert book.ask(put()) == OverLimitError(text)
    book.enter("c1", "w1")
    book >> accepted("w1", (FIRST,)) >> m.Ended(watch("w1"))
    book.end_batch()
    assert book.ask(put()) == OverLimitError(text)
    assert book.ask(m.Kick(ASKER, 1)) == m.Kicked(1)


def test_a_draining_node_takes_no_puts_and_everything_else() -> None:
    """What shrinks the queue still works."""
    book = QueueBook().fill(1)
    book.context.draining = True
    assert book.ask(put()) == DrainingError("the node is draining and takes no new jobs")
    assert book.enter("c1", "w1") == [offer("w1", FIRST).message]
    assert indexes(book.ask(acknowledge(FIRST))) == [FIRST]


# statistics ---------------------------------------------------------------------------------


def test_statistics_count_every_place_once() -> None:
    """A snapshot of a queue with a job in each state."""
    book = QueueBook(credit=m.Credit(1, 0))
    book >> put()
    book.enter("c1", "w1")
    book >> accepted("w1", (FIRST,)) >> m.Ended(watch("w1"))
    book.at(1.0) >> put() >> put(priority=3, body=b"urgent") >> put(delay_s=5.0)
    book >> m.Register(ASKER, watch("w2"), "c2", peer="10.0.0.1:5")
    book.end_batch()
    book.at(3.0) >> m.Show(ASKER)
    (answer,) = book.end_batch()
    assert answer.value == m.QueueStatistics(
        name=b"jobs",
        exists=True,
        ready=1,
        reserved=1,
        delayed=1,
        buried=1,
        urgent=0,
        body_bytes=18,
        oldest_ready_age_s=2.0,
        pause_left_s=0.0,
        puts_total=4,
        deliveries_total=1,
        acknowledged_total=0,
        deleted_total=0,
        kicked_total=0,
        buried_total=1,
        dropped_consumers_total=0,
        consumers=(m.ConsumerStatistics("c2", "10.0.0.1:5", 1, 6, m.Credit(1, 0), 2.0, False),),
    )


def test_urgent_counts_ready_jobs_below_the_default_priority() -> None:
    """As beanstalkd counts them."""
    book = QueueBook()
    book >> put(priority=1023) >> put(priority=1024) >> put(priority=0, delay_s=1.0)
    assert book.shown().urgent == 1
    book >> acknowledge(FIRST)
    assert book.shown().urgent == 0


def test_an_unused_core_has_no_deadline() -> None:
    """A core about to stop asks for nothing."""
    assert QueueBook().queue.next_deadline_s() == NEVER_S


def test_every_message_of_the_vocabulary_has_its_step() -> None:
    """Each request with an address, and each word of a watch, is understood."""
    told_to_watches = {m.Offer, m.Superseded}
    requests = {
        message
        for message in vars(m).values()
        if isinstance(message, type)
        and issubclass(message, m.Message)
        and {"to", "watch"} & set(message.__struct_fields__)
    }
    assert requests - told_to_watches == set(QueueCore._STEPS)
