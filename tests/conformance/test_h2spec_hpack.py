"""h2spec, group `hpack`: blocks that no decoder may take. A test per case."""

import pytest

from etcdq.server.etcd.transport.frames import ErrorCode
from tests.support.raw_http2 import GET, RawClient

NAME = b"\x00\x85\xf2\xb2\x4a\x84\xff"
BAD = {
    "2.3.3/1 indexed field beyond the table": b"\xc6",
    "2.3.3/2 literal with a name beyond the table": b"\x7f\x07\x00",
    "4.2/1 table size update at the end of a block": b"\x21",
    "5.2/1 Huffman padding longer than 7 bits": NAME + b"\x84\x49\x50\x9f\xff",
    "5.2/2 Huffman padding of zeros": NAME + b"\x83\x49\x50\x90",
    "5.2/3 Huffman string with EOS": NAME + b"\x87\x49\x51\xff\xff\xff\xfa\x7f",
    "6.1/1 indexed field with index 0": b"\x80",
}


@pytest.mark.parametrize("rest", BAD.values(), ids=list(BAD))
def test_bad_representation(rest: bytes) -> None:
    """2.3.3 to 6.1: a malformed representation ends the connection with COMPRESSION_ERROR."""
    client = RawClient()
    client.send(client.headers(1, client.block(GET) + rest))
    client.assert_connection_error(ErrorCode.COMPRESSION_ERROR)


def test_6_3_1_table_size_over_the_setting() -> None:
    """6.3/1: a table size update over SETTINGS_HEADER_TABLE_SIZE ends the connection."""
    client = RawClient()
    client.send(client.headers(1, b"\x3f\xe2\x1f" + client.block(GET)))  # 4097
    client.assert_connection_error(ErrorCode.COMPRESSION_ERROR)
