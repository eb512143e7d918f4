"""A newer watch of the same consumer, sentence by sentence of the rules."""

import pytest

from etcdq.actors.effect import Tell
from etcdq.actors.queue import messages as m
from tests.support.playbook import Named
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
    register,
    reply,
    watch,
)


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
