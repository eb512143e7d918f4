"""Errors about revisions carry etcd's texts."""

from etcdq.actors.errors import RequestError
from etcdq.actors.node.mvcc.errors import CompactedError, FutureRevisionError


def test_texts_are_etcds() -> None:
    """Clients compare these texts."""
    future, compacted = FutureRevisionError(), CompactedError(7)
    assert future.text == "etcdserver: mvcc: required revision is a future revision"
    assert compacted.text == "etcdserver: mvcc: required revision has been compacted"
    assert compacted.compact_revision == 7
    assert isinstance(future, RequestError)
    assert isinstance(compacted, RequestError)
