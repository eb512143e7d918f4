"""The calls the bench makes: paths, and bodies built by hand where it is hot."""

from etcdq.server.etcd.pb import rpc_pb2

PUT = "/etcdserverpb.KV/Put"
RANGE = "/etcdserverpb.KV/Range"
DELETE = "/etcdserverpb.KV/DeleteRange"
WATCH = "/etcdserverpb.Watch/Watch"

VALUE_BYTES = 100
VALUE = b"x" * VALUE_BYTES


def prefix_end(prefix: bytes) -> bytes:
    """The end of the range of all keys that start with prefix (its last byte is below 255)."""
    return prefix[:-1] + bytes((prefix[-1] + 1,))


def put(key: bytes, value: bytes = VALUE) -> bytes:
    """A PutRequest; key and value each under 128 bytes, so that a length is one byte."""
    return b"\n%c%b\x12%c%b" % (len(key), key, len(value), value)


def delete(key: bytes) -> bytes:
    """A DeleteRangeRequest for one key under 128 bytes."""
    return b"\n%c%b" % (len(key), key)


def purge(prefix: bytes) -> bytes:
    """A DeleteRangeRequest for every key that starts with prefix."""
    return rpc_pb2.DeleteRangeRequest(key=prefix, range_end=prefix_end(prefix)).SerializeToString()


def count(prefix: bytes) -> bytes:
    """A RangeRequest that counts the keys that start with prefix."""
    return rpc_pb2.RangeRequest(
        key=prefix, range_end=prefix_end(prefix), count_only=True
    ).SerializeToString()


def get(key: bytes) -> bytes:
    """A RangeRequest for one key."""
    return rpc_pb2.RangeRequest(key=key).SerializeToString()


def watch(key: bytes, *, prefix: bool = False) -> bytes:
    """A WatchRequest: a consumer key of ours, or a prefix whose deletes are filtered out."""
    create = rpc_pb2.WatchCreateRequest(key=key)
    if prefix:
        create.range_end = prefix_end(key)
        create.filters.append(rpc_pb2.WatchCreateRequest.NODELETE)
    return rpc_pb2.WatchRequest(create_request=create).SerializeToString()
