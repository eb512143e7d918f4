"""The table from domain errors to reply words."""

import pytest

from etcdq.actors import errors
from etcdq.actors.node.mvcc import errors as mvcc_errors
from etcdq.server.beanstalk.errors import REPLIES, reply_of
from tests.unit.server.etcd.test_errors import import_all_actors, leaves

OF_THE_ETCD_DOOR = {
    errors.InvalidArgumentError,
    errors.InvalidKeyError,
    errors.RequestTooLargeError,
    mvcc_errors.CompactedError,
    mvcc_errors.FutureRevisionError,
    mvcc_errors.KeyNotFoundError,
    mvcc_errors.LeaseNotFoundError,
}
"""Born where keys and etcd's requests are read: no queue and no worker answers them."""


def test_every_error_is_here_or_cannot_come() -> None:
    """Each leaf of the error tree in actors/ is in the table, or is known to be of keys only."""
    import_all_actors()
    assert set(leaves(errors.EtcdqError)) == set(REPLIES) | OF_THE_ETCD_DOOR


@pytest.mark.parametrize(
    ("error", "reply"),
    [
        (errors.NoSuchJobError("etcdq: no job"), b"NOT_FOUND\r\n"),
        (errors.NoSuchQueueError("etcdq: no queue"), b"NOT_FOUND\r\n"),
        (errors.OverLimitError("etcdq: full"), b"OUT_OF_MEMORY\r\n"),
        (errors.DrainingError("etcdq: draining"), b"DRAINING\r\n"),
        (errors.InvalidKeyError("etcdq: our bug"), b"INTERNAL_ERROR\r\n"),
    ],
)
def test_words(error: errors.EtcdqError, reply: bytes) -> None:
    """Clients match on the word."""
    assert reply_of(error) == reply
