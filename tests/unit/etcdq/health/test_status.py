"""When a process is live, and when it is ready."""

from typing import Any

import pytest

from etcdq.health.status import BEAT_LATE_S, Report, report
from tests.support.health_status import SetStatus


def test_well() -> None:
    """A process that is well is live and ready, and says how busy it is."""
    assert report(SetStatus(beat_s=10), 10.25) == Report(True, True, 0.25, 2, ())


@pytest.mark.parametrize(
    ("state", "live", "problem"),
    [
        ({"is_connected": False}, True, "not connected"),
        ({"is_accepting": False}, True, "takes no work"),
        ({"tasks_down": ("touch",)}, False, "task touch does not run"),
        ({"beat_s": -30.0}, False, "the loop has not turned for 30 s"),
    ],
)
def test_not_well(state: dict[str, Any], live: bool, problem: str) -> None:
    """In an outage, before connecting and while stopping it is live; blocked or maimed it is not.

    None of them is ready.
    """
    found = report(SetStatus(**state), 0)

    assert (found.live, found.ready, found.problems) == (live, False, (problem,))


@pytest.mark.parametrize(("over_s", "live"), [(0.0, True), (0.001, False)])
def test_when_a_loop_is_blocked(over_s: float, live: bool) -> None:
    """To the instant."""
    assert report(SetStatus(), BEAT_LATE_S + over_s).live is live


def test_every_problem_is_told() -> None:
    """What is wrong is not hidden by what else is."""
    status = SetStatus(beat_s=-99, tasks_down=("a", "b"), is_connected=False, is_accepting=False)

    assert len(report(status, 0).problems) == 5


def test_a_beat_between_reading_the_clock_and_the_beat() -> None:
    """A heartbeat is never of the future."""
    assert report(SetStatus(beat_s=1.0), 0.9).heartbeat_age_s == 0
