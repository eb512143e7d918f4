"""etcdserverpb.KV: Put, Range and DeleteRange, on queue keys and on ordinary ones.

Every method is two pure translations: the request into a message for an actor, the reply into
the response. Source: docs/semantics.md sections 2 and 3.
"""

from typing import Any

from etcdq.actors.errors import (
    InvalidArgumentError,
    InvalidKeyError,
    RequestTooLargeError,
)
from etcdq.actors.message import Address
from etcdq.actors.node import messages as keys
from etcdq.actors.node.mvcc.errors import FutureRevisionError
from etcdq.actors.node.mvcc.range_options import read_limit, select
from etcdq.actors.queue import messages as queue
from etcdq.server.etcd.context import Ask, Context
from etcdq.server.etcd.keys import (
    ConsumerKey,
    DeliveryKey,
    JobsRange,
    KeysRange,
    ProducerKey,
    QueueKey,
    consumer_identity,
    delivery_key,
)
from etcdq.server.etcd.pb import kv_pb2, rpc_pb2

_SORT_ORDERS = {order.value: order for order in keys.SortOrder}
_SORT_TARGETS = {target.value: target for target in keys.SortTarget}


# put ----------------------------------------------------------------------------------------


def ask_put(context: Context, request: rpc_pb2.PutRequest, to: Address) -> Ask:
    """Translate a put: of a message, of an ordinary key, or over a registry key."""
    key, value = request.key, request.value
    if len(value) > context.request_bytes_max:
        raise RequestTooLargeError("etcdserver: request is too large")
    form = context.spelling.parse(key)
    if type(form) is ProducerKey:
        if request.lease or request.ignore_value or request.ignore_lease:
            raise InvalidArgumentError(_NOT_ON_PRODUCER_KEYS)
        message = queue.Put(to, form.key, form.tail, value)
        return Ask(context.queue(form.name), message, _answer_inserted)
    _check_put(request)
    if form is None:
        return _ask_put_key(context, request, to)
    if isinstance(form, DeliveryKey):
        raise InvalidKeyError(_PUT_ON_DELIVERY_KEY)
    registry_key = _registry_key(context, form)
    read = keys.RangeKeys(to, registry_key)
    return Ask(context.door.keys, read, _answer_put_over_registry, key if request.prev_kv else b"")


_NOT_ON_PRODUCER_KEYS = (
    "etcdq: lease, ignore_value and ignore_lease mean nothing on a producer key: every put is a"
    " message; put without them"
)
_PUT_ON_DELIVERY_KEY = (
    "etcdq: a delivery key is written by the server; to produce, put to /q/{name}/p/{key}"
)
_NO_OWNER = (
    "etcdq: a registry key is written by the server, and this one has no living owner; to produce"
    " put to /q/{name}/p/{key}, to consume watch /q/{name}/c/{uuid}"
)


def _check_put(request: rpc_pb2.PutRequest) -> None:
    if not request.key:
        raise InvalidArgumentError("etcdserver: key is not provided")
    if request.ignore_value and request.value:
        raise InvalidArgumentError("etcdserver: value is provided")
    if request.ignore_lease and request.lease:
        raise InvalidArgumentError("etcdserver: lease is provided")


def _ask_put_key(context: Context, request: rpc_pb2.PutRequest, to: Address) -> Ask:
    message = keys.PutKey(
        to,
        request.key,
        request.value,
        request.lease,
        request.prev_kv,
        request.ignore_value,
        request.ignore_lease,
    )
    return Ask(context.door.keys, message, _answer_key_put)


def _answer_inserted(context: Context, _value: queue.Inserted, _asked: Ask) -> bytes:
    return context.put_answer()


def _answer_key_put(context: Context, value: keys.KeyPut, _asked: Ask) -> bytes:
    response = rpc_pb2.PutResponse(header=context.header(value.revision))
    if value.prev is not None:
        response.prev_kv.CopyFrom(wire_kv(value.prev))
    return response.SerializeToString()


def _answer_put_over_registry(context: Context, value: keys.KeyRange, asked: Ask) -> bytes:
    # The owner lives: the client gets its answer, and finds the key as the server wrote it.
    if not value.kvs:
        raise InvalidKeyError(_NO_OWNER)
    response = rpc_pb2.PutResponse(header=context.header())
    if asked.extra:
        response.prev_kv.CopyFrom(wire_kv(value.kvs[0]))
        response.prev_kv.key = asked.extra  # as it was spelled
    return response.SerializeToString()


def _registry_key(context: Context, form: object) -> bytes:
    if isinstance(form, ConsumerKey):
        identity = consumer_identity(form.segment)
        segment = form.segment if identity is None else identity.encode()
        return context.spelling.consumer_key(form.name, segment)
    assert isinstance(form, QueueKey)
    return context.spelling.queue_key(form.name)


# range --------------------------------------------------------------------------------------


def ask_range(context: Context, request: rpc_pb2.RangeRequest, to: Address) -> Ask | bytes:
    """Translate a range: of keys, of the jobs of one queue, or of one job."""
    start, end = request.key, request.range_end
    if not start:
        raise InvalidArgumentError("etcdserver: key is not provided")
    options = _options(request)
    if end:
        form = context.spelling.parse_range(start, end)
        if isinstance(form, KeysRange):
            read = keys.RangeKeys(to, form.start, form.end, options)
            return Ask(context.door.keys, read, _answer_range, form)
        if form is None:
            return _empty_range(context)
        return _ask_look(context, form, options, to)
    try:
        one = context.spelling.parse(start)
    except InvalidKeyError:
        return _empty_range(context)  # a key that cannot exist
    if isinstance(one, ProducerKey):
        extra = (options, start)
        message = queue.ReadKey(to, one.key)
        return Ask(context.queue(one.name), message, _answer_listing, extra)
    if isinstance(one, DeliveryKey):
        read_one = queue.ReadDelivery(to, one.index, one.tail, _holder(one.holder))
        return Ask(context.queue(one.name), read_one, _answer_listing, (options, start))
    if one is None:
        read = keys.RangeKeys(to, start, b"", options)
        return Ask(context.door.keys, read, _answer_range)
    canonical = _registry_key(context, one)
    spelled = KeysRange(canonical, b"", start, canonical)
    read = keys.RangeKeys(to, canonical, b"", options)
    return Ask(context.door.keys, read, _answer_range, spelled)


def _options(request: rpc_pb2.RangeRequest) -> keys.RangeOptions:
    order = _SORT_ORDERS.get(request.sort_order)
    target = _SORT_TARGETS.get(request.sort_target)
    if order is None or target is None:
        raise InvalidArgumentError("etcdserver: invalid sort option")
    return keys.RangeOptions(
        limit=request.limit,
        revision=request.revision,
        sort_order=order,
        sort_target=target,
        keys_only=request.keys_only,
        count_only=request.count_only,
        min_mod_revision=request.min_mod_revision,
        max_mod_revision=request.max_mod_revision,
        min_create_revision=request.min_create_revision,
        max_create_revision=request.max_create_revision,
    )


def _ask_look(context: Context, form: JobsRange, options: keys.RangeOptions, to: Address) -> Ask:
    limit = 1 if options.count_only else read_limit(options)
    look = queue.Look(to, form.start, form.end, _holder(form.holder), limit)
    return Ask(context.queue(form.name), look, _answer_listing, (options, form))


def _answer_range(context: Context, value: keys.KeyRange, asked: Ask) -> bytes:
    response = rpc_pb2.RangeResponse(
        header=context.header(value.revision),
        kvs=_spelled_kvs(value.kvs, asked.extra),
        more=value.more,
        count=value.count,
    )
    return response.SerializeToString()


def _answer_listing(context: Context, value: queue.Listing, asked: Ask) -> bytes:
    options, form = asked.extra
    revision = context.revision()
    if options.revision > revision:
        raise FutureRevisionError
    records = [_job_kv(job, form, revision) for job in value.jobs]
    if options.count_only:
        records, more = [], False
    else:
        records, more = select(records, options)
    response = rpc_pb2.RangeResponse(
        header=context.header(revision),
        kvs=[wire_kv(record) for record in records],
        more=more,
        count=value.count,
    )
    return response.SerializeToString()


def _job_kv(job: queue.JobView, form: JobsRange | bytes, revision: int) -> keys.KeyValue:
    if isinstance(form, bytes):
        key = form
    else:
        key = delivery_key(form.lead, job.index, job.tail)
    return keys.KeyValue(key, job.body, revision, revision, 1)


def _empty_range(context: Context) -> bytes:
    return rpc_pb2.RangeResponse(header=context.header()).SerializeToString()


def _holder(segment: bytes | None) -> str | None:
    if segment is None:
        return None
    return consumer_identity(segment) or segment.decode("utf-8", "backslashreplace")


# delete -------------------------------------------------------------------------------------


def ask_delete(context: Context, request: rpc_pb2.DeleteRangeRequest, to: Address) -> Ask | bytes:
    """Translate a delete: an acknowledgement, a purge, or of ordinary keys."""
    start, end = request.key, request.range_end
    if not start:
        raise InvalidArgumentError("etcdserver: key is not provided")
    prev_kv = request.prev_kv
    if end:
        return _ask_delete_range(context, start, end, prev_kv, to)
    form = context.spelling.parse(start)
    if type(form) is DeliveryKey:
        message = queue.Acknowledge(to, form.index, form.tail, prev_kv)
        return Ask(context.queue(form.name), message, _answer_deleted, start)
    if isinstance(form, ProducerKey):
        delete = queue.DeleteKey(to, form.key, prev_kv)
        return Ask(context.queue(form.name), delete, _answer_deleted, start)
    if form is None:
        keys_delete = keys.DeleteKeys(to, start, b"", prev_kv)
        return Ask(context.door.keys, keys_delete, _answer_keys_deleted)
    canonical = _registry_key(context, form)
    keys_delete = keys.DeleteKeys(to, canonical, b"", prev_kv)
    spelled = KeysRange(canonical, b"", start, canonical)
    return Ask(context.door.keys, keys_delete, _answer_keys_deleted, spelled)


def _ask_delete_range(
    context: Context, start: bytes, end: bytes, prev_kv: bool, to: Address
) -> Ask | bytes:
    form = context.spelling.parse_range(start, end)
    if form is None:
        return context.deleted_answer(0)
    if isinstance(form, KeysRange):
        message = keys.DeleteKeys(to, form.start, form.end, prev_kv)
        return Ask(context.door.keys, message, _answer_keys_deleted, form)
    purge = queue.Purge(to, form.start, form.end, _holder(form.holder), prev_kv)
    return Ask(context.queue(form.name), purge, _answer_deleted, form)


def _answer_deleted(context: Context, value: queue.Deleted, asked: Ask) -> bytes:
    if value.count < 2 and not value.jobs:
        return context.deleted_answer(value.count)
    revision = context.revision()
    prev_kvs = [wire_kv(_job_kv(job, asked.extra, revision)) for job in value.jobs]
    response = rpc_pb2.DeleteRangeResponse(
        header=context.header(revision), deleted=value.count, prev_kvs=prev_kvs
    )
    return response.SerializeToString()


def _answer_keys_deleted(context: Context, value: keys.KeysDeleted, asked: Ask) -> bytes:
    response = rpc_pb2.DeleteRangeResponse(
        header=context.header(value.revision),
        deleted=value.deleted,
        prev_kvs=_spelled_kvs(value.prevs, asked.extra),
    )
    return response.SerializeToString()


def _spelled_kvs(kvs: tuple[keys.KeyValue, ...], spelled: KeysRange | None) -> list[Any]:
    """Return keys of the key space as etcd's messages, registry keys as the client spells them."""
    found = [wire_kv(kv) for kv in kvs]
    if spelled is not None and spelled.lead:
        skip = len(spelled.canonical)
        for kv in found:
            kv.key = spelled.lead + kv.key[skip:]
    return found


def wire_kv(kv: keys.KeyValue) -> Any:
    """Return a KeyValue as etcd's message."""
    return kv_pb2.KeyValue(
        key=kv.key,
        value=kv.value,
        create_revision=kv.create_revision,
        mod_revision=kv.mod_revision,
        version=kv.version,
        lease=kv.lease,
    )
