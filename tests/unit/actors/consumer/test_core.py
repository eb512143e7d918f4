"""One watch: what it takes of an offer, what it says about it, and its end."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etcdq.actors import limits
from etcdq.actors.consumer.core import ConsumerCore, WatchStatistics
from etcdq.actors.consumer.messages import CancelWatch, Deliver, Offered, WatchGone, Written
from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Tell
from etcdq.actors.queue.messages import Accepted, Delivery, Ended, Offer, Superseded, Taken
from tests.support.playbook import Named, Playbook
from tests.support.queue_book import watch

QUEUE = Named("queue")
ME = watch("w1")
OVERHEAD_BYTES = 9
SIZE = 15
"""Of a delivery of the tests: 5 of body, 1 of tail, and the overhead."""
DROPPED = CancelWatch("consumer c1 was dropped: no progress with a message for 5 s")
TAKEN_OVER = CancelWatch("a newer watch of consumer c1 took over")


def new_book() -> Playbook:
    return Playbook(ConsumerCore("c1", QUEUE, ME, 5.0, OVERHEAD_BYTES), now_s=100.0)


def deliveries(indexes: Iterable[int], body: bytes = b"12345") -> tuple[Delivery, ...]:
    return tuple(Delivery(index, b"k", body) for index in indexes)


def offered(*indexes: int, room: int) -> Offered:
    """An offer of those indexes, with room for so many of them."""
    return Offered(Offer(ME, deliveries(indexes)), room * SIZE)


def deliver(*indexes: int) -> Deliver:
    return Deliver(deliveries(indexes))


def tell(message: object) -> Tell:
    return Tell(QUEUE, message)


# taking -------------------------------------------------------------------------------------


def test_what_fits_is_delivered_in_one_response_and_taken_once_written() -> None:
    """The queue hears exactly one word, after the write."""
    book = new_book()
    book >> offered(1, 2, 3, room=3) << deliver(1, 2, 3)
    book >> Written(1, moved=False) << tell(Accepted(ME, (1, 2, 3)))
    assert book.core.next_deadline_s() == NEVER_S


def test_the_next_one_stalls_and_the_rest_is_declined() -> None:
    """One message more than fits is begun; nothing behind it is kept."""
    book = new_book()
    book >> offered(1, 2, 3, 4, room=2) << [deliver(1, 2), deliver(3)]
    book >> Written(1, moved=True) << tell(Accepted(ME, (1, 2), (3,), (4,)))


def test_without_any_room_the_first_one_stalls() -> None:
    """So a consumer that never reads is noticed by its first message."""
    book = new_book()
    book >> Offered(Offer(ME, deliveries([1, 2])), 0) << deliver(1)
    book >> Written(0, moved=False) << tell(Accepted(ME, (), (1,), (2,)))


def test_one_byte_less_than_its_size_does_not_fit() -> None:
    """Body, tail and overhead count."""
    book = new_book()
    book >> Offered(Offer(ME, deliveries([1, 2])), 2 * SIZE - 1) << [deliver(1), deliver(2)]


def test_a_stalled_message_that_was_written_after_all_is_taken() -> None:
    """The first look decides, not the estimate of room."""
    book = new_book()
    book >> offered(1, 2, 3, room=1) << [deliver(1), deliver(2)]
    book >> Written(2, moved=False) << tell(Accepted(ME, (1, 2), (), (3,)))


def test_what_should_have_fitted_and_was_not_written_is_stalled() -> None:
    """The socket blocked although the window had room."""
    book = new_book()
    book >> offered(1, 2, room=2) << deliver(1, 2)
    book >> Written(0, moved=True) << tell(Accepted(ME, (), (1, 2)))
    book >> Written(1, moved=False) << tell(Taken(ME, (1, 2)))


def test_stalled_messages_are_told_taken_once_written() -> None:
    """A look without progress tells nothing."""
    book = new_book()
    book >> offered(1, 2, room=1) << [deliver(1), deliver(2)]
    book >> Written(1, moved=False) << tell(Accepted(ME, (1,), (2,)))
    book >> Written(0, moved=False) << []
    book >> Written(0, moved=True) << []
    book >> Written(1, moved=False) << tell(Taken(ME, (2,)))
    book >> offered(3, room=1) << deliver(3)


def test_a_response_carries_at_most_1_mib_of_events() -> None:
    """A larger offer that fits the window is cut, in order."""
    body = bytes(limits.RESPONSE_EVENTS_BYTES_MAX // 2 - OVERHEAD_BYTES - 1)
    offer = Offer(ME, deliveries(range(5), body))
    book = new_book()
    (
        book
        >> Offered(offer, 1 << 30)
        << [
            Deliver(deliveries([0, 1], body)),
            Deliver(deliveries([2, 3], body)),
            Deliver(deliveries([4], body)),
        ]
    )
    book >> Written(3, moved=False) << tell(Accepted(ME, (0, 1, 2, 3, 4)))


def test_a_message_over_1_mib_is_a_response_of_its_own() -> None:
    """One message is always allowed."""
    body = bytes(limits.RESPONSE_EVENTS_BYTES_MAX)
    big, small = deliveries([2], body), deliveries([1])
    book = new_book()
    (
        book
        >> Offered(Offer(ME, small + big + small), 1 << 30)
        << [
            Deliver(small),
            Deliver(big),
            Deliver(small),
        ]
    )


@given(
    st.lists(st.integers(0, 400_000), min_size=1, max_size=12),
    st.integers(0, 3_000_000),
)
def test_groups_are_the_offer_cut(sizes: list[int], room_bytes: int) -> None:
    """Groups in order make the offer's front; each is small or single; only the last is over."""
    offer = Offer(ME, tuple(Delivery(n, b"", bytes(size)) for n, size in enumerate(sizes)))
    effects = ConsumerCore("c1", QUEUE, ME, 5.0, 0).step(Offered(offer, room_bytes), 0.0)
    groups = [effect.deliveries for effect in effects]
    flat = tuple(one for group in groups for one in group)
    assert flat == offer.deliveries[: len(flat)]
    for group in groups:
        group_bytes = sum(len(one.body) for one in group)
        assert len(group) == 1 or group_bytes <= limits.RESPONSE_EVENTS_BYTES_MAX
    used_bytes = sum(len(one.body) for one in flat)
    if used_bytes > room_bytes:
        assert len(groups[-1]) == 1
        assert used_bytes - len(flat[-1].body) <= room_bytes
    else:
        assert flat == offer.deliveries


# the accept timeout -------------------------------------------------------------------------


def test_no_progress_for_exactly_5_s_drops_the_watch() -> None:
    """Not a moment earlier; the watch is cancelled with a reason, the queue hears of it."""
    book = new_book()
    book >> offered(1, room=0) << deliver(1)
    book >> Written(0, moved=False) << tell(Accepted(ME, (), (1,)))
    assert book.core.next_deadline_s() == 105.0
    book.at(104.999) << []
    book.at(105.0) << [DROPPED, tell(Ended(ME, (), dropped=True))]
    assert book.core.next_deadline_s() == NEVER_S


@pytest.mark.parametrize("progress", [Written(0, moved=True), Written(1, moved=False)])
def test_any_progress_starts_the_time_anew(progress: Written) -> None:
    """A byte of the next message counts, and a whole message does."""
    book = new_book()
    book >> Offered(Offer(ME, deliveries([1, 2])), 2 * SIZE - 1) << [deliver(1), deliver(2)]
    book >> Written(0, moved=False) << tell(Accepted(ME, (), (1, 2)))
    book.at(104.0) >> progress
    book.end_batch()
    assert book.core.next_deadline_s() == 109.0
    book.at(109.0) << [DROPPED, tell(Ended(ME, (), dropped=True))]


def test_a_look_without_progress_does_not_start_the_time_anew() -> None:
    """Looks come whenever anything is written for others on the connection."""
    book = new_book()
    book >> offered(1, room=0) >> Written(0, moved=False)
    book.end_batch()
    book.at(104.0) >> Written(0, moved=False) << []
    assert book.core.next_deadline_s() == 105.0


def test_the_time_runs_only_while_something_is_unwritten() -> None:
    """An idle watch is never dropped."""
    book = new_book()
    book >> offered(1, room=1) >> Written(1, moved=False)
    book.end_batch()
    book.at(1e6) << []


# the end ------------------------------------------------------------------------------------


def test_a_takeover_cancels_the_watch_with_a_reason() -> None:
    """An idle watch ends at once."""
    new_book() >> Superseded(ME) << [TAKEN_OVER, tell(Ended(ME))]


def test_a_takeover_of_a_stalled_watch_ends_it_at_once() -> None:
    """Its stalled message is not waited for."""
    book = new_book()
    book >> offered(1, room=0) >> Written(0, moved=False)
    book.end_batch()
    book >> Superseded(ME) << [TAKEN_OVER, tell(Ended(ME))]


def test_a_takeover_between_an_offer_and_its_write_waits_for_the_write() -> None:
    """What the peer has got is taken: it must not be given to the new watch too."""
    book = new_book()
    book >> offered(1, 2, 3, room=1) << [deliver(1), deliver(2)]
    book >> Superseded(ME) << []
    book >> Written(1, moved=True) << [TAKEN_OVER, tell(Ended(ME, (1,)))]


def test_a_watch_that_is_gone_tells_the_queue() -> None:
    """Nothing is left to be cancelled."""
    book = new_book()
    book >> offered(1, room=0) >> Written(0, moved=False)
    book.end_batch()
    book >> WatchGone() << tell(Ended(ME))


def test_a_watch_that_is_gone_before_its_first_look_ends_without_a_word_on_the_offer() -> None:
    """The end resolves the offer: all of it goes back."""
    book = new_book()
    book >> offered(1, 2, room=2) << deliver(1, 2)
    book >> WatchGone() << tell(Ended(ME))


@pytest.mark.parametrize("end", ["superseded", "gone", "dropped"])
def test_after_the_end_nothing_is_delivered_or_said(end: str) -> None:
    """An offer that crossed the end is ignored; the queue resolves it by the end itself."""
    book = new_book()
    if end == "superseded":
        book >> Superseded(ME)
    elif end == "gone":
        book >> WatchGone()
    else:
        book >> offered(1, room=0) >> Written(0, moved=False)
        book.end_batch()
        book.at(105.0)
    book.end_batch()
    for message in (offered(7, room=1), Written(0, moved=False), Superseded(ME), WatchGone()):
        book >> message << []
    book.at(1e6) << []
    assert book.core.statistics() == WatchStatistics("c1", 0, ended=True)


# our own mistakes ---------------------------------------------------------------------------


def test_a_second_offer_before_the_first_is_answered_is_our_bug() -> None:
    """The queue makes one offer at a time."""
    book = new_book()
    book >> offered(1, room=1)
    with pytest.raises(AssertionError, match="unwritten"):
        book >> offered(2, room=1)


def test_more_written_than_delivered_is_our_bug() -> None:
    """The session counts its groups."""
    with pytest.raises(AssertionError, match="more was written"):
        new_book() >> Written(1, moved=False)


def test_statistics_count_unwritten_messages() -> None:
    """What the session still has."""
    book = new_book()
    book >> offered(1, 2, room=2)
    assert book.core.statistics() == WatchStatistics("c1", 2, ended=False)
