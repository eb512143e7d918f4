"""The door's constant answers follow the revision."""

from etcdq.server.etcd.context import Context
from etcdq.server.etcd.pb import rpc_pb2
from tests.support.door_host import a_door


def test_answers_follow_the_revision() -> None:
    """The answers made once are made anew when the revision has moved."""
    door = a_door()
    context = Context(door)
    for revision in (7, 8, 8, 9):
        door.board["revision"] = revision
        put = rpc_pb2.PutResponse.FromString(context.put_answer())
        assert put.header.revision == revision
        for count in (0, 1):
            deleted = rpc_pb2.DeleteRangeResponse.FromString(context.deleted_answer(count))
            assert (deleted.header.revision, deleted.deleted) == (revision, count)


def test_header() -> None:
    """A header is of the current revision, or of the one that is given."""
    context = Context(a_door())
    assert context.header().revision == 7
    assert context.header(3).revision == 3
    assert (context.header().cluster_id, context.header().member_id) == (11, 12)
