"""What the transport's vocabulary promises its users."""

import gc
from typing import get_args

import msgspec
import pytest

from etcdq.actors import limits
from etcdq.server.etcd.transport import events
from tests.support.raw_http2 import METHODS, PUT


@pytest.mark.parametrize("kind", get_args(events.Event))
def test_event_is_frozen_and_no_work_for_the_collector(kind: type[msgspec.Struct]) -> None:
    """An event is a value: nobody changes it, and it is never walked by a collection."""
    given = {"stream_id": 1, "method": PUT, "deadline_s": None, "message": b"x", "metadata": ()}
    given |= {"code": 13, "text": "why"}
    event = kind(**{name: given[name] for name in kind.__struct_fields__})
    assert not gc.is_tracked(event)
    with pytest.raises(AttributeError):
        event.stream_id = 3  # type: ignore[attr-defined]


def test_default_limits_admit_the_largest_body() -> None:
    """A body at `--max-request-bytes` fits a message, and several such messages the buffers."""
    bounds = events.TransportLimits()
    assert bounds.message_bytes_max == limits.REQUEST_BYTES_MAX + limits.RECEIVE_OVERHEAD_BYTES
    assert bounds.buffered_request_bytes_max >= 16 * bounds.message_bytes_max


def test_methods_of_the_tests_are_methods() -> None:
    """Whatever has `streaming` can stand in the table of methods."""
    table: events.Methods = METHODS
    assert {method.streaming for method in table.values()} == {True, False}
