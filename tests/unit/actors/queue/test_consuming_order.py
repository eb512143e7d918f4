"""In which order jobs are handed out, and to whom, sentence by sentence of the rules."""

from etcdq.actors import limits
from etcdq.actors.effect import Tell
from etcdq.actors.queue import messages as m
from tests.support.playbook import Named
from tests.support.queue_book import (
    FIRST,
    QueueBook,
    accepted,
    acknowledge,
    entered,
    offer,
    put,
    register,
    reply,
    watch,
)


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
