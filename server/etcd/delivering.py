"""The bytes of a watch response that delivers jobs, written by hand.

The same bytes as the generated code would write (a test holds this), in half the time: of an event
only the key and the body differ from one job to the next. Source: proto/rpc.proto, proto/kv.proto.
"""

from collections.abc import Iterable

from etcdq.actors.queue.messages import Delivery
from etcdq.server.etcd.context import Context
from etcdq.server.etcd.pb import kv_pb2, rpc_pb2

_ONE_BYTE = [bytes((number,)) for number in range(128)]

# Field tags: number << 3 | 2, which is "length-delimited".
_EVENTS = b"Z"  # WatchResponse.events = 11
_EVENT_KV = b"\x12"  # Event.kv = 2
_KV_KEY = b"\n"  # KeyValue.key = 1
_KV_VALUE = b"*"  # KeyValue.value = 5


def watch_response(
    context: Context, watch_id: int, lead: bytes, deliveries: Iterable[Delivery]
) -> bytes:
    """Return a serialized WatchResponse with a PUT event for each delivery.

    Args:
        lead: what the delivery keys begin with, `/q/{name}/` as the consumer spelled it.
    """
    revision = context.revision()
    head = rpc_pb2.WatchResponse(header=context.header(revision), watch_id=watch_id)
    fixed = kv_pb2.KeyValue(create_revision=revision, mod_revision=revision, version=1)
    fixed_bytes = fixed.SerializeToString()
    parts = [head.SerializeToString()]
    for one in deliveries:
        key = b"%s%016d/%s" % (lead, one.index, one.tail)
        body = one.body
        if body:
            value = (_KV_VALUE, varint(len(body)), body)
            kv = b"".join((_KV_KEY, varint(len(key)), key, fixed_bytes, *value))
        else:
            kv = b"".join((_KV_KEY, varint(len(key)), key, fixed_bytes))
        size = varint(len(kv))
        parts += (_EVENTS, varint(1 + len(size) + len(kv)), _EVENT_KV, size, kv)
    return b"".join(parts)


def varint(number: int) -> bytes:
    """Return a number that is not negative as protobuf writes it."""
    if number < 128:
        return _ONE_BYTE[number]
    if number < 16_384:
        return bytes((number & 127 | 128, number >> 7))
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
