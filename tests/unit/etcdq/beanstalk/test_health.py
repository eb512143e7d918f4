"""A number of jobs that is not known is never taken for none."""

import copy
import pickle

import pytest

from etcdq.beanstalk import UNKNOWN, Depth, Depths, health
from etcdq.beanstalk.replies import Reply
from tests.support.talking import carry_out

TUBE_MAIL = b"stats-tube mail\r\n"


def test_unknown_is_no_number() -> None:
    """Whatever way it is asked whether it is 0, or how many, it is not so, and nothing raises."""
    depth: Depth = UNKNOWN
    looks_empty = [
        depth == 0,
        depth <= 0,
        depth < 1,
        not depth,
        depth in (0, 0.0, False),
        (depth or 0) == 0,
        sum([depth, 0]) == 0,
        depth > 10,
    ]

    assert looks_empty == [False] * len(looks_empty)
    with pytest.raises(ValueError):
        int(UNKNOWN)


def test_unknown_says_so() -> None:
    """In a page, a log line or a format it reads as what it is."""
    assert [str(UNKNOWN), repr(UNKNOWN), f"{UNKNOWN}", f"{UNKNOWN:,d}"] == ["unknown"] * 4


def test_unknown_is_one() -> None:
    """Copied, or out of a cache, it is still the one that `is` asks for."""
    assert pickle.loads(pickle.dumps(UNKNOWN)) is UNKNOWN
    assert copy.deepcopy([UNKNOWN])[0] is UNKNOWN
    assert health.Unknown() is UNKNOWN


def test_known_depths() -> None:
    """A tube that is not there is empty: the server was asked."""
    depths = Depths({"mail": 3})

    assert depths.known
    assert (depths["mail"], depths["other"], depths.get("other", 7)) == (3, 0, 0)
    assert ("mail" in depths, "other" in depths) == (True, False)
    assert dict(depths) == {"mail": 3}
    assert repr(depths) == "Depths({'mail': 3})"


def test_unknown_depths() -> None:
    """No tube is empty of which nothing is known, and there is something to show."""
    depths = Depths(None)

    assert not depths.known
    assert depths["mail"] is depths.get("mail", 0) is UNKNOWN
    assert depths
    assert "mail" not in depths
    assert list(depths.items()) == [("?", UNKNOWN)]
    assert sum(depths.values()) != 0
    assert all(depth != 0 for depth in depths.values())


def test_depths_that_were_found_are_a_snapshot() -> None:
    """What is told does not change behind one's back."""
    found = {"mail": 3}
    depths = Depths(found)
    found["mail"] = 4

    assert depths["mail"] == 3


def test_questions() -> None:
    """What is asked of the server, and what comes of its answers."""
    five = Reply("OK", body=b"---\ncurrent-jobs-ready: 5\ncurrent-jobs-reserved: 9\n")

    assert carry_out(health.reach(), (b"list-tube-used\r\n", Reply("USING", ("default",))))
    assert carry_out(health.depth(None), (b"stats\r\n", five)) == 5
    assert carry_out(health.depth("mail"), (TUBE_MAIL, five)) == 5
    assert carry_out(health.depth("mail"), (TUBE_MAIL, Reply("NOT_FOUND"))) == 0
    depths = carry_out(
        health.depths(),
        (b"list-tubes\r\n", Reply("OK", body=b"---\n- mail\n")),
        (TUBE_MAIL, five),
    )
    assert dict(depths) == {"mail": 5}
