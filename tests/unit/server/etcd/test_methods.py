"""The table of methods: all of the API is in it, built or not."""

import pytest

from etcdq.server.etcd.context import Unary, Unbuilt, WatchMethod
from etcdq.server.etcd.methods import METHODS
from etcdq.server.etcd.pb import election_pb2, health_pb2, lock_pb2, queues_pb2, rpc_pb2

MODULES = (rpc_pb2, lock_pb2, election_pb2, health_pb2, queues_pb2)
SERVICES = [
    service for module in MODULES for service in module.DESCRIPTOR.services_by_name.values()
]


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.full_name)
def test_every_method_is_there(service: object) -> None:
    """Every method of every service has its path, its request type, and streams as declared."""
    for method in service.methods:  # type: ignore[attr-defined]
        path = f"/{service.full_name}/{method.name}"  # type: ignore[attr-defined]
        entry = METHODS[path.encode()]
        assert entry.streaming == method.client_streaming
        if isinstance(entry, Unary):
            assert entry.request_type.DESCRIPTOR.full_name == method.input_type.full_name
        elif isinstance(entry, Unbuilt):
            assert entry.path == path
        else:
            assert isinstance(entry, WatchMethod)


def test_services() -> None:
    """All services of etcd's API, gRPC's health service, and ours."""
    assert {service.full_name for service in SERVICES} == {
        "etcdserverpb.KV",
        "etcdserverpb.Watch",
        "etcdserverpb.Lease",
        "etcdserverpb.Cluster",
        "etcdserverpb.Maintenance",
        "etcdserverpb.Auth",
        "v3lockpb.Lock",
        "v3electionpb.Election",
        "grpc.health.v1.Health",
        "etcdq.v1.Queues",
    }
    assert len(METHODS) == sum(len(service.methods) for service in SERVICES)


def test_what_is_built() -> None:
    """docs/semantics.md section 3 names what is built; the rest says that it is not."""
    built = {path.decode() for path, one in METHODS.items() if not isinstance(one, Unbuilt)}
    assert {path for path in built if "/etcdserverpb" in path} == {
        "/etcdserverpb.KV/Put",
        "/etcdserverpb.KV/Range",
        "/etcdserverpb.KV/DeleteRange",
        "/etcdserverpb.Watch/Watch",
        "/etcdserverpb.Cluster/MemberList",
        "/etcdserverpb.Maintenance/Status",
    }
