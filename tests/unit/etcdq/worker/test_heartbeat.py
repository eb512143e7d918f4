"""When jobs in hand are touched."""

from math import inf

import pytest

from etcdq.worker.heartbeat import Heartbeat


def test_at_a_third_of_the_shortest_ttr() -> None:
    """All jobs are touched at the pace of the one whose reservation ends first."""
    heartbeat = Heartbeat(100.0)
    heartbeat.hold({1: 60})
    heartbeat.hold({2: 3})

    assert heartbeat.due_s == pytest.approx(101.0)
    assert heartbeat.beat(101.2) == [1, 2]
    assert heartbeat.due_s == pytest.approx(102.2)


def test_pace_of_those_that_are_left() -> None:
    """When the short job is done, the long ones are touched at their own pace; then nobody is."""
    heartbeat = Heartbeat(0.0)
    heartbeat.hold({1: 60})
    heartbeat.hold({2: 3})

    assert heartbeat.let_go(2)
    assert not heartbeat.let_go(2)
    assert heartbeat.due_s == pytest.approx(20.0)
    assert heartbeat.let_go(1)
    assert (heartbeat.due_s, heartbeat.expires_s, heartbeat.held) == (inf, inf, [])


def test_reservation_lasts_from_the_touch() -> None:
    """It counts from when the touch was sent; of the TTR a tenth is left to the network."""
    heartbeat = Heartbeat(0.0)
    heartbeat.hold({1: 30})
    heartbeat.hold({2: 50})
    assert heartbeat.expires_s == 27.0

    heartbeat.beat(10.0)
    assert heartbeat.expires_s == 27.0  # no answer yet
    heartbeat.touched(1)
    assert (heartbeat.valid_until_s(1), heartbeat.valid_until_s(2)) == (37.0, 45.0)


def test_touch_of_a_job_that_was_let_go() -> None:
    """Its answer comes too late to mean anything."""
    heartbeat = Heartbeat(0.0)
    heartbeat.hold({1: 3})
    heartbeat.beat(1.0)
    heartbeat.let_go(1)

    heartbeat.touched(1)

    assert (heartbeat.valid_until_s(1), heartbeat.expires_s) == (-inf, inf)
