"""Who waits for a job of one queue, in which order."""

import pytest

from etcdq.actors.message import Address
from etcdq.actors.queue.waiting import Waiting
from tests.support.playbook import Named

FIRST, SECOND = Address(Named("first"), None), Address(Named("second"), None)


def filled() -> Waiting:
    waiting = Waiting()
    waiting.add(1, FIRST)
    waiting.add(2, SECOND)
    return waiting


def test_the_first_that_came_is_invited() -> None:
    """And nobody else until it is heard of."""
    waiting = filled()
    assert list(waiting) == [1, 2]
    assert waiting.open
    assert waiting.invite() == FIRST
    assert waiting.invited == 1
    assert not waiting.open


def test_one_that_waits_already_keeps_its_place() -> None:
    """To say it twice puts nobody last."""
    waiting = filled()
    waiting.add(1, FIRST)
    assert list(waiting) == [1, 2]


def test_one_that_found_nothing_keeps_its_place_and_can_be_invited_anew() -> None:
    """Whether it says that it waits, or the queue had nothing for its claim."""
    waiting = filled()
    waiting.invite()
    waiting.add(1, FIRST)
    assert (list(waiting), waiting.invited, waiting.open) == ([1, 2], 0, True)
    waiting.invite()
    waiting.decline(1)
    assert (list(waiting), waiting.invited, waiting.open) == ([1, 2], 0, True)


def test_another_one_does_not_decline_for_the_invited() -> None:
    """Nor does it leave for it."""
    waiting = filled()
    waiting.invite()
    waiting.decline(2)
    waiting.drop(2)
    waiting.drop(3)
    assert (list(waiting), waiting.invited) == ([1], 1)


def test_when_the_invited_leaves_the_next_can_be_invited() -> None:
    """No invitation outlives who was invited."""
    waiting = filled()
    waiting.invite()
    waiting.drop(1)
    assert waiting.open
    assert waiting.invite() == SECOND
    waiting.drop(2)
    assert not waiting.open
    assert len(waiting) == 0


def test_a_second_invitation_at_a_time_is_a_fault() -> None:
    """It would pass somebody over."""
    waiting = filled()
    waiting.invite()
    with pytest.raises(AssertionError, match="one invitation"):
        waiting.invite()
