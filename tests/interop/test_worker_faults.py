"""Servers that fail a worker in each way, at each point of its work.

What holds: the worker goes on by itself; a job that the server kept is done; a job runs again only
where its reservation was lost before the server had its delete; and the statistics say so.
"""

import pytest
import trio

from tests.support.mortal_server import KINDS
from tests.support.trap import FAULTS
from tests.support.worker_faults import POINTS, Outcome, fail_everywhere

Outcomes = dict[tuple[str, str], Outcome]

# How often the job runs that was there before the fault, and how many of its runs are lost.
# At "reserve" there is none.
KEPT = {"reserve": 0, "answer": 1, "run": 2, "touch": 2, "delete": 2, "deleted": 1}
GONE = {"reserve": 0, "answer": 0, "run": 1, "touch": 1, "delete": 1, "deleted": 1}
LOST = {"reserve": 0, "answer": 0, "run": 1, "touch": 1, "delete": 1, "deleted": 1}
# A server that was only stopped gets in the end what was sent to it: a delete, too, and the worker
# gets the answer that was on its way.
STOPPED_RUNS = {**KEPT, "delete": 1}
STOPPED_LOST = {**LOST, "deleted": 0}


@pytest.fixture(scope="module", params=KINDS)
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """What has come of each fault at each point, on a kind of server."""
    return trio.run(fail_everywhere, request.param, tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("fault", FAULTS)
def test_worker_goes_on(fault: str, point: str, outcomes: Outcomes) -> None:
    """Nothing is lost that the server kept, and what runs twice is known."""
    outcome = outcomes[fault, point]
    print(outcome)
    figures = outcome.figures

    assert outcome.is_settled
    if fault == "stopped":
        runs, lost = STOPPED_RUNS[point], STOPPED_LOST[point]
    else:
        runs, lost = (KEPT if outcome.jobs_kept else GONE)[point], LOST[point]
    assert (outcome.runs, figures.lost) == (runs, lost)
    assert figures.done + figures.lost == outcome.begun
    assert figures.failed == figures.given_up == figures.handed_back == 0
