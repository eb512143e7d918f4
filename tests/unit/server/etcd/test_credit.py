"""What a Watch call may ask of its consumers' credit."""

import pytest

from etcdq.actors.errors import InvalidArgumentError
from etcdq.actors.queue.messages import Credit
from etcdq.server.etcd.credit import asked_credit

NODE = Credit(256, 1000)


@pytest.mark.parametrize(
    ("value", "node", "credit"),
    [
        (b"1", NODE, Credit(1, 1000)),
        (b"3,10", NODE, Credit(3, 10)),
        (b"999,9999", NODE, Credit(256, 1000)),
        (b"999,9999", Credit(0, 0), Credit(999, 9999)),
        (b"7", Credit(0, 0), Credit(7, 0)),
    ],
)
def test_a_call_may_ask_for_less_than_the_node_gives(
    value: bytes, node: Credit, credit: Credit
) -> None:
    """The lesser of the two holds; 0 of the node is no limit."""
    assert asked_credit(((b"etcdq-credit", value),), node) == credit


def test_a_call_that_asks_for_nothing_gets_the_node_s() -> None:
    """Other metadata of ours means nothing here."""
    assert asked_credit(((b"etcdq-else", b"1"),), NODE) is NODE


@pytest.mark.parametrize("value", [b"", b"0", b"-1", b"1,", b"1,0", b"1,2,3", b"x", b"9" * 16])
def test_a_malformed_wish_is_refused_with_the_right_form(value: bytes) -> None:
    """The text shows the value and the form."""
    with pytest.raises(InvalidArgumentError, match="MESSAGES or MESSAGES,BYTES"):
        asked_credit(((b"etcdq-credit", value),), NODE)
