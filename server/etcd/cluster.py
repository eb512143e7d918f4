"""etcdserverpb.Cluster and Maintenance, as far as one node has something to say."""

from etcdq.actors.message import Address
from etcdq.server.etcd.context import RAFT_TERM, Context
from etcdq.server.etcd.pb import rpc_pb2


def ask_member_list(context: Context, _request: rpc_pb2.MemberListRequest, _to: Address) -> bytes:
    """Return the one member: this node."""
    identity = context.door.identity
    member = rpc_pb2.Member(
        ID=identity.member_id, name=identity.name, clientURLs=identity.client_urls
    )
    # etcd's member list has no revision in its header.
    return rpc_pb2.MemberListResponse(
        header=context.header(0), members=[member]
    ).SerializeToString()


def ask_status(context: Context, _request: rpc_pb2.StatusRequest, _to: Address) -> bytes:
    """Return what `etcdctl endpoint status` prints; the raft index of one node is its revision."""
    identity = context.door.identity
    size_bytes = context.door.keys_statistics().approximate_bytes
    revision = context.revision()
    return rpc_pb2.StatusResponse(
        header=context.header(revision),
        version=identity.version,
        dbSize=size_bytes,
        dbSizeInUse=size_bytes,
        leader=identity.member_id,
        raftIndex=revision,
        raftAppliedIndex=revision,
        raftTerm=RAFT_TERM,
    ).SerializeToString()
