"""Birth, death, delays, limits and statistics of one queue, sentence by sentence."""

import pytest

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Stop
from etcdq.actors.errors import DrainingError, OverLimitError
from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from etcdq.actors.queue.core import QueueCore
from etcdq.actors.queue.messages import TimingStatistics
from tests.support.queue_book import (
    ASKER,
    BORN,
    FIRST,
    REAPED,
    QueueBook,
    accepted,
    acknowledge,
    entered,
    indexes,
    offer,
    put,
    register,
    reply,
    watch,
)

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
        (m.DeleteKey(ASKER, b"k"), m.Deleted((), 0)),
        (acknowledge(FIRST), m.Deleted((), 0)),
        (m.Look(ASKER), m.Listing((), 0)),
        (m.Look(ASKER, holder="c1"), m.Listing((), 0)),
        (m.ReadDelivery(ASKER, FIRST, b"k"), m.Listing((), 0)),
        (m.Purge(ASKER), m.Deleted((), 0)),
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
    assert book.at(2.0).end_batch() == []
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
        tube=m.TubeStatistics(
            name=b"jobs",
            urgent=0,
            ready=1,
            reserved=1,
            delayed=1,
            buried=1,
            using=0,
            watching=1,
            waiting=0,
            pause_s=0.0,
            pause_left_s=0.0,
            jobs_total=4,
            deletes_total=0,
            pauses_total=0,
            reserves_total=0,
            timeouts_total=0,
            buries_total=1,
            timing=TimingStatistics(),
            oldest_ready_id=2,
            oldest_ready_age_s=2.0,
            oldest_delayed_age_s=2.0,
            oldest_buried_age_s=3.0,
        ),
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
    """Each request with an address, each word of a watch, a worker, a queue, is understood."""
    told_to_others = {m.Offer, m.Superseded}
    told_by_queues = {t.Serve, t.SlotFreed, t.GroupCompleted}
    requests = {
        message
        for message in (*vars(m).values(), *vars(t).values())
        if isinstance(message, type)
        and issubclass(message, m.Message)
        and {"to", "watch", "worker", "connection", "using"} & set(message.__struct_fields__)
    }
    not_asked = {m.TubeStatistics}
    assert requests - told_to_others - not_asked | told_by_queues == set(QueueCore._STEPS)
