"""Single calls to a server in another process, over grpcio."""

from typing import Any

import grpc

from etcdq.server.etcd.pb import queues_pb2, rpc_pb2

CALL_S = 30.0


class Calls:
    """A connection to one endpoint."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel

    def _call(self, path: str, request: Any, reply: Any) -> Any:
        stub = self._channel.unary_unary(
            path,
            request_serializer=type(request).SerializeToString,
            response_deserializer=reply.FromString,
        )
        return stub(request, timeout=CALL_S)

    def put(self, key: str, value: str | bytes) -> None:
        """Put a key."""
        body = value.encode() if isinstance(value, str) else value
        request = rpc_pb2.PutRequest(key=key.encode(), value=body)
        self._call("/etcdserverpb.KV/Put", request, rpc_pb2.PutResponse)

    def get(self, key: str) -> str | None:
        """Read a key's value; None if it is not there."""
        request = rpc_pb2.RangeRequest(key=key.encode())
        answer = self._call("/etcdserverpb.KV/Range", request, rpc_pb2.RangeResponse)
        return answer.kvs[0].value.decode() if answer.kvs else None

    def delete(self, key: str) -> int:
        """Delete a key; return how many there were."""
        request = rpc_pb2.DeleteRangeRequest(key=key.encode())
        answer = self._call("/etcdserverpb.KV/DeleteRange", request, rpc_pb2.DeleteRangeResponse)
        return int(answer.deleted)

    def show(self, name: str) -> Any:
        """Show one queue."""
        request = queues_pb2.ShowRequest(name=name)
        return self._call("/etcdq.v1.Queues/Show", request, queues_pb2.ShowResponse)

    def counts(self, name: str) -> tuple[int, int, int]:
        """Return how many jobs of a queue are ready, reserved, buried."""
        summary = self.show(name).summary
        return summary.ready, summary.reserved, summary.buried

    def kick(self, name: str, bound: int) -> int:
        """Kick buried jobs; return how many there were."""
        request = queues_pb2.KickRequest(name=name, bound=bound)
        return int(self._call("/etcdq.v1.Queues/Kick", request, queues_pb2.KickResponse).kicked)
