"""Talks, carried out against a list of what is asked and answered."""

import pytest

from etcdq import beanstalk
from etcdq.beanstalk import Job, talks
from etcdq.beanstalk.replies import Reply
from etcdq.beanstalk.talks import Standing
from tests.support.talking import carry_out

WATCHING = Reply("WATCHING", ("1",))
TIMED_OUT = Reply("TIMED_OUT")


def test_a_tube_is_used_once() -> None:
    """`use` is said when the tube is another one than before."""
    standing = Standing()

    carry_out(talks.make_way(standing, "default", {}))
    carry_out(talks.make_way(standing, "mail", {}), (b"use mail\r\n", Reply("USING", ("mail",))))
    carry_out(talks.make_way(standing, "mail", {"priority": 1}))
    carry_out(talks.make_way(standing, "default", {}), (b"use default\r\n", Reply("USING")))


def test_a_use_that_was_refused() -> None:
    """What is used is not known then, and the next put says it again."""
    standing = Standing()
    with pytest.raises(beanstalk.OutOfMemoryError):
        carry_out(talks.use(standing, "mail"), (b"use mail\r\n", Reply("OUT_OF_MEMORY")))

    carry_out(talks.use(standing, "default"), (b"use default\r\n", Reply("USING")))


def test_tags_are_asked_for_once() -> None:
    """Before the first put with a tag, and never again."""
    standing = Standing()
    probe = b"stats-group default\r\n"

    with pytest.raises(beanstalk.UnsupportedError):
        carry_out(
            talks.make_way(standing, "default", {"idp": "k"}), (probe, Reply("UNKNOWN_COMMAND"))
        )
    carry_out(talks.make_way(standing, "default", {"idp": "k"}), (probe, Reply("NOT_FOUND")))
    carry_out(talks.make_way(standing, "default", {"con": "k"}))


def test_reserve_watches_what_it_is_told_and_nothing_else() -> None:
    """The new tubes first, then the others away, then the reserve: never from `default` alone."""
    standing = Standing()
    job = Job(3, b"x")
    found = carry_out(
        talks.reserve(standing, ["mail"], 5),
        (b"watch mail\r\n", WATCHING),
        (b"ignore default\r\n", WATCHING),
        (b"reserve-with-timeout 5\r\n", Reply("RESERVED", ("3", "1"), jobs=(job,))),
    )
    assert found == job

    for tubes, script in [
        (["mail"], []),
        (["mail", "tasks"], [(b"watch tasks\r\n", WATCHING)]),
        (["tasks"], [(b"ignore mail\r\n", WATCHING)]),
    ]:
        with pytest.raises(beanstalk.TimedOutError):
            carry_out(
                talks.reserve(standing, tubes, 0),
                *script,
                (b"reserve-with-timeout 0\r\n", TIMED_OUT),
            )
    assert standing.watched == {"tasks"}


def test_a_watch_that_was_refused() -> None:
    """It is said again before the next reserve."""
    standing = Standing()
    refused = Reply("OUT_OF_MEMORY")

    for _ in range(2):
        with pytest.raises(beanstalk.OutOfMemoryError):
            carry_out(talks.reserve(standing, ["mail"], 0), (b"watch mail\r\n", refused))
    assert standing.watched == {"default"}


def test_statistics_of_all_tubes() -> None:
    """They are asked together; a tube that just ended is left out."""
    found = carry_out(
        talks.stats_tubes(),
        (b"list-tubes\r\n", Reply("OK", body=b"---\n- b\n- a\n")),
        (b"stats-tube a\r\n", Reply("NOT_FOUND")),
        (b"stats-tube b\r\n", Reply("OK", body=b"---\nname: b\ncurrent-jobs-ready: 4\n")),
    )

    assert {tube: dict(figures) for tube, figures in found.items()} == {
        "b": {"name": "b", "current-jobs-ready": 4}
    }
