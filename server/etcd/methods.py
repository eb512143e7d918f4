"""Every method of the door, by its path: the table that routes a call."""

from google.protobuf.descriptor import FileDescriptor

from etcdq.server.etcd import cluster, kv, queues
from etcdq.server.etcd.context import Method, Unary, Unbuilt, WatchMethod
from etcdq.server.etcd.pb import election_pb2, health_pb2, lock_pb2, queues_pb2, rpc_pb2

_BUILT: dict[str, Method] = {
    "/etcdserverpb.KV/Put": Unary(rpc_pb2.PutRequest, kv.ask_put),
    "/etcdserverpb.KV/Range": Unary(rpc_pb2.RangeRequest, kv.ask_range),
    "/etcdserverpb.KV/DeleteRange": Unary(rpc_pb2.DeleteRangeRequest, kv.ask_delete),
    "/etcdserverpb.Watch/Watch": WatchMethod(),
    "/etcdserverpb.Cluster/MemberList": Unary(rpc_pb2.MemberListRequest, cluster.ask_member_list),
    "/etcdserverpb.Maintenance/Status": Unary(rpc_pb2.StatusRequest, cluster.ask_status),
    "/etcdq.v1.Queues/List": Unary(queues_pb2.ListRequest, queues.ask_list),
    "/etcdq.v1.Queues/Show": Unary(queues_pb2.ShowRequest, queues.ask_show),
    "/etcdq.v1.Queues/Kick": Unary(queues_pb2.KickRequest, queues.ask_kick),
    "/etcdq.v1.Queues/Peek": Unary(queues_pb2.PeekRequest, queues.ask_peek),
    "/etcdq.v1.Queues/Pause": Unary(queues_pb2.PauseRequest, queues.ask_pause),
    "/etcdq.v1.Queues/Purge": Unary(queues_pb2.PurgeRequest, queues.ask_purge),
}


def _methods_of(file: FileDescriptor) -> dict[bytes, Method]:
    found: dict[bytes, Method] = {}
    for service in file.services_by_name.values():
        for method in service.methods:
            path = f"/{service.full_name}/{method.name}"
            unbuilt = Unbuilt(path, streaming=method.client_streaming)
            found[path.encode()] = _BUILT.get(path, unbuilt)
    return found


METHODS: dict[bytes, Method] = {
    path: method
    for module in (rpc_pb2, lock_pb2, election_pb2, health_pb2, queues_pb2)
    for path, method in _methods_of(module.DESCRIPTOR).items()
}
