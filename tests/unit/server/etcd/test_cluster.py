"""Cluster and Maintenance: who the node is, and how it is."""

from types import SimpleNamespace

from etcdq.actors.message import Address
from etcdq.server.etcd.cluster import ask_member_list, ask_status
from etcdq.server.etcd.context import Context
from etcdq.server.etcd.pb import rpc_pb2
from tests.support.door_host import Listener, a_door

TO = Address(Listener(), 1)


def test_member_list() -> None:
    """One member: this node, under its name, id and URLs; as in etcd, without a revision."""
    answer = ask_member_list(Context(a_door()), rpc_pb2.MemberListRequest(), TO)
    response = rpc_pb2.MemberListResponse.FromString(answer)
    (member,) = response.members
    assert (member.ID, member.name, list(member.clientURLs)) == (12, "node", ["http://here"])
    header = response.header
    assert (header.cluster_id, header.member_id, header.revision) == (11, 12, 0)


def test_status() -> None:
    """It leads itself; size and index are the key space's."""
    door = a_door()
    object.__setattr__(door, "keys_statistics", lambda: SimpleNamespace(approximate_bytes=4_096))
    response = rpc_pb2.StatusResponse.FromString(
        ask_status(Context(door), rpc_pb2.StatusRequest(), TO)
    )
    assert (response.leader, response.header.member_id) == (12, 12)
    assert (response.version, response.dbSize, response.dbSizeInUse) == ("3.5.0", 4_096, 4_096)
    assert (response.raftIndex, response.raftAppliedIndex) == (7, 7)
    assert response.raftTerm == response.header.raft_term > 0
