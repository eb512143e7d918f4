"""What follows a reserve."""

import pytest

from etcdq.beanstalk import Job
from etcdq.beanstalk.gathering import Gathering
from etcdq.beanstalk.replies import Reply

ONE = Reply("RESERVED", jobs=(Job(1, b""),))
TWO = Reply("RESERVED_BATCH", jobs=(Job(2, b""), Job(3, b"")))


def test_a_batch_follows_a_job() -> None:
    """It asks for what is still wanted, within what a batch may have, and is the last."""
    gathering = Gathering()

    assert gathering.next_command(5, [ONE]) == b"reserve-batch 4\r\n"
    assert gathering.next_command(5_000, [ONE]) == b"reserve-batch 1000\r\n"
    assert gathering.next_command(5, [ONE, TWO]) is None


@pytest.mark.parametrize("word", ["TIMED_OUT", "DEADLINE_SOON", "BAD_FORMAT", "OUT_OF_MEMORY"])
def test_nothing_follows_no_job(word: str) -> None:
    """Whatever the first reserve was refused for."""
    gathering = Gathering()

    assert gathering.next_command(5, [Reply(word)]) is None
    assert gathering.knows_batches


def test_nothing_follows_enough() -> None:
    """One job was wanted."""
    assert Gathering().next_command(1, [ONE]) is None


@pytest.mark.parametrize("word", ["UNKNOWN_COMMAND", "BAD_FORMAT"])
def test_a_server_without_batches(word: str) -> None:
    """It is asked for a batch once; then one by one, until there is none or there are enough."""
    gathering = Gathering()
    more = b"reserve-with-timeout 0\r\n"

    assert gathering.next_command(3, [ONE, Reply(word)]) == more
    assert gathering.next_command(3, [ONE]) == more
    assert gathering.next_command(3, [ONE, ONE]) == more
    assert gathering.next_command(3, [ONE, ONE, ONE]) is None
    assert gathering.next_command(3, [ONE, Reply("TIMED_OUT")]) is None
