"""Servers that fail a scheduler in each way, at each point of its work.

What holds: it goes on by itself; on a server that kept its jobs each slot has one, or is told as
missed; and only a server without keys may have two for the slot whose answer was lost.
"""

import pytest
import trio

from tests.support.mortal_server import KINDS
from tests.support.schedule_faults import POINTS, Outcome, fail_everywhere
from tests.support.trap import FAULTS

Outcomes = dict[tuple[str, str], Outcome]


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """The server."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def outcomes(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """What has come of each fault at each point, on a kind of server."""
    return trio.run(fail_everywhere, kind, tmp_path_factory.mktemp(kind))


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("fault", FAULTS)
def test_scheduler_goes_on(fault: str, point: str, kind: str, outcomes: Outcomes) -> None:
    """No slot is left out unseen, and none runs twice where the server can see to that."""
    outcome = outcomes[fault, point]
    print(outcome)

    assert outcome.is_settled
    assert outcome.again <= (1 if kind == "beanstalkd" else 0)
    if outcome.jobs_kept:
        # Of a put whose answer was lost nobody knows whether it is there: it is told as well.
        assert outcome.left_out <= outcome.told.get("missed", 0)
