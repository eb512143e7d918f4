"""What a node says of itself."""

import os

from etcdq import __version__
from etcdq.server.facts import Facts


def test_facts_are_of_this_process() -> None:
    """Name, version and pid; times that do not fall; a new id for each start."""
    facts, other = Facts("n1"), Facts("n1")
    first, second = facts(draining=False), facts(draining=True)
    assert (first.name, first.version, first.pid) == ("n1", __version__, os.getpid())
    assert (first.draining, second.draining) == (False, True)
    assert 0 <= first.uptime_s <= second.uptime_s
    assert 0 < first.user_s <= second.user_s
    assert first.resident_bytes_max > 1_000_000
    assert first.node_id == second.node_id != other(draining=False).node_id
    assert len(first.node_id) == 16
    assert int(first.node_id, 16) >= 0
    assert first.os == os.uname().version
    assert first.kernel == f"{os.uname().sysname} {os.uname().release}"
