"""Servers that fail a worker in each way, at each point of its work.

What holds: the worker goes on by itself; a job that the server kept is done; a job runs again only
where its reservation was lost before the server had its delete; and the statistics say so.
"""

import pytest
import trio

from tests.support.mortal_server import KINDS
from tests.support.trap import FAULTS
from tests.support.worker_faults import FORMS, POINTS, Outcome, fail_everywhere

Outcomes = dict[tuple[str, str, str], Outcome]

# How often each job runs that was there before the fault, and how many of these runs are lost.
# At "reserve" there are none.
RUNS_KEPT = {"reserve": {0}, "answer": {1}, "run": {2}, "touch": {2}, "delete": {2}, "deleted": {1}}
RUNS_GONE = {"reserve": {0}, "answer": {0}, "run": {1}, "touch": {1}, "delete": {1}, "deleted": {1}}
LOST = {"reserve": 0, "answer": 0, "run": 1, "touch": 1, "delete": 1, "deleted": 1}
# A server that was only stopped gets in the end what was sent to it: deletes, too, unless it looks
# first at the end of the connection. And the worker gets the answer that was on its way.
RUNS_STOPPED = {**RUNS_KEPT, "delete": {1, 2}}
LOST_STOPPED = {**LOST, "deleted": 0}


@pytest.fixture(scope="module", params=KINDS)
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """What has come of each fault, for each worker at each point, on a kind of server."""
    return trio.run(fail_everywhere, request.param, tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("fault", FAULTS)
def test_worker_goes_on(fault: str, point: str, form: str, outcomes: Outcomes) -> None:
    """Nothing is lost that the server kept, and what runs twice is known."""
    outcome = outcomes[fault, form, point]
    print(outcome)
    figures = outcome.figures

    assert outcome.is_settled
    if fault == "stopped":
        table, lost = RUNS_STOPPED, LOST_STOPPED[point]
    else:
        table, lost = RUNS_KEPT if outcome.jobs_kept else RUNS_GONE, LOST[point]
    assert set(outcome.runs[:1]) <= table[point]
    others, of_batch = table[point], lost
    if form == "batch" and point == "deleted":
        # When its first job is deleted, the deletes of the others may be on their way; then none
        # of them is known to be done.
        others, of_batch = others | table["delete"], LOST["deleted"]
    assert set(outcome.runs[1:]) <= others
    assert figures.lost in (lost * len(outcome.runs), of_batch * len(outcome.runs))
    assert figures.done + figures.lost == outcome.begun
    assert figures.failed == figures.given_up == 0
