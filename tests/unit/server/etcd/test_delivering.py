"""Deliveries written by hand: the same message as the generated code writes."""

from hypothesis import given
from hypothesis import strategies as st

from etcdq.actors.queue.messages import Delivery
from etcdq.server.etcd.context import Context
from etcdq.server.etcd.delivering import varint, watch_response
from etcdq.server.etcd.door import Door, Identity
from etcdq.server.etcd.pb import kv_pb2, rpc_pb2


class Nowhere:
    """A handle nobody reads."""

    def post(self, message: object) -> None:
        """Drop it."""


def context_at(revision: int) -> Context:
    """Return a context whose store is at `revision`."""
    return Context(
        Door(
            identity=Identity("n", 2**64 - 1, 1, "3.5.0", ()),
            board={"revision": revision},
            keys=Nowhere(),
            queue=lambda name: Nowhere(),
            census=list,
            keys_statistics=lambda: None,
        )
    )


@given(
    st.integers(1, 2**62),
    st.integers(-1, 2**40),
    st.binary(max_size=300),
    st.lists(
        st.builds(
            Delivery,
            index=st.integers(0, 10**16 - 1),
            tail=st.binary(min_size=1, max_size=200),
            body=st.binary(max_size=20_000),
        ),
        max_size=4,
    ),
)
def test_reads_as_the_generated_message(
    revision: int, watch_id: int, lead: bytes, deliveries: list[Delivery]
) -> None:
    """Whatever is delivered, a client reads what the generated code would have written."""
    context = context_at(revision)
    events = [
        kv_pb2.Event(
            kv=kv_pb2.KeyValue(
                key=b"%s%016d/%s" % (lead, one.index, one.tail),
                value=one.body,
                create_revision=revision,
                mod_revision=revision,
                version=1,
            )
        )
        for one in deliveries
    ]
    expected = rpc_pb2.WatchResponse(header=context.header(), watch_id=watch_id, events=events)

    written = watch_response(context, watch_id, lead, deliveries)

    assert rpc_pb2.WatchResponse.FromString(written) == expected
    assert len(written) == expected.ByteSize()


@given(st.integers(0, 2**40))
def test_varint_is_read_back(number: int) -> None:
    """A number of any size is written as protobuf reads it."""
    assert rpc_pb2.WatchResponse.FromString(b"\x10" + varint(number)).watch_id == number
