"""The table of transitions."""

import pytest

from etcdq.actors.queue.job import BURIED, DELAYED, READY, RESERVED, TRANSITIONS
from etcdq.actors.queue.messages import JobState

LEGAL = {
    ("hand out", READY): RESERVED,
    ("reserve by id", READY): RESERVED,
    ("reserve by id", DELAYED): RESERVED,
    ("reserve by id", BURIED): RESERVED,
    ("give back", RESERVED): READY,
    ("delay", RESERVED): DELAYED,
    ("bury", RESERVED): BURIED,
    ("ripen", DELAYED): READY,
    ("kick", BURIED): READY,
    ("kick", DELAYED): READY,
}


@pytest.mark.parametrize("change", TRANSITIONS)
@pytest.mark.parametrize("state", JobState)
def test_every_change_from_every_state(change: str, state: JobState) -> None:
    """A change leads where the protocol says, and from any other state nowhere."""
    assert TRANSITIONS[change].get(state) == LEGAL.get((change, state))
