"""A node inside a program: its address, its settings, its end."""

import logging

import pytest
import trio
from trio.testing import MockClock

import etcdq
from etcdq.actors.message import Address
from etcdq.actors.queue.messages import Put
from etcdq.embedded import NodeSettings
from etcdq.server.config import PROCESS_FIELDS, ConfigError, NodeConfig
from etcdq.server.listen import ListenError


class Nobody:
    """Takes replies and forgets them."""

    def post(self, message: object) -> None:
        """Forget it."""


async def test_a_free_port_and_the_end(autojump_clock: MockClock) -> None:
    """By default a node has a free port of this machine, and only while the block runs."""
    async with etcdq.open_node() as node, etcdq.open_node() as other:
        assert node.endpoint.startswith("http://127.0.0.1:")
        assert node.endpoint != other.endpoint
        port = int(node.endpoint.rpartition(":")[2])
        async with await trio.open_tcp_stream("127.0.0.1", port):
            pass

    with pytest.raises(OSError, match="connect"):
        await trio.open_tcp_stream("127.0.0.1", port)
    assert trio.current_time() == 0.0


async def test_given_urls(tmp_path: object, autojump_clock: MockClock) -> None:
    """Every URL that is asked for is an endpoint."""
    urls = ["http://127.0.0.1:0", f"unix://{tmp_path}/node.sock"]
    async with etcdq.open_node(listen_client_urls=urls) as node:
        assert node.endpoints[1] == urls[1]
        await (await trio.open_unix_socket(f"{tmp_path}/node.sock")).aclose()


async def test_beanstalk_door(autojump_clock: MockClock) -> None:
    """A node opens it if it is told where."""
    async with etcdq.open_node() as node:
        assert node.beanstalk_addresses == ()
    async with etcdq.open_node(listen_beanstalk="127.0.0.1:0") as node:
        (address,) = node.beanstalk_addresses
        host, _, port = address.rpartition(":")
        async with await trio.open_tcp_stream(host, int(port)) as stream:
            await stream.send_all(b"put 0 0 60 1\r\nx\r\n")
            assert await stream.receive_some(100) == b"INSERTED 1\r\n"
        assert [queue.name for queue in node.census()] == [b"default"]


async def test_the_census_shows_its_queues(autojump_clock: MockClock) -> None:
    """What waits in the node can be read without a client, and each node has its own."""
    async with etcdq.open_node() as node, etcdq.open_node() as other:
        to = Address(Nobody(), 0)
        node._daemon.node.queue(b"jobs").post(Put(to, key=b"k", tail=b"k", body=b"payload"))
        await trio.testing.wait_all_tasks_blocked()

        assert [(queue.name, queue.ready) for queue in node.census()] == [(b"jobs", 1)]
        assert other.census() == []


async def test_wrong_settings() -> None:
    """A wrong value, an unknown name and an address that cannot be are told as they are."""
    with pytest.raises(ConfigError, match="accept_timeout 'soon': not a duration"):
        async with etcdq.open_node(accept_timeout="soon"):
            raise AssertionError("it runs")
    with pytest.raises(ConfigError, match="unknown setting 'data_dir'"):
        async with etcdq.open_node(data_dir="x"):  # type: ignore[call-arg]
            raise AssertionError("it runs")
    with pytest.raises(ListenError, match="unix:///does/not/exist"):
        async with etcdq.open_node(listen_client_urls="unix:///does/not/exist"):
            raise AssertionError("it runs")


async def test_the_programs_own_error_is_its_own(autojump_clock: MockClock) -> None:
    """What the block raises comes out as itself: our nurseries do not show."""
    with pytest.raises(KeyError, match="mine"):
        async with etcdq.open_node():
            raise KeyError("mine")


async def test_log_lines_go_to_logging(
    caplog: pytest.LogCaptureFixture, autojump_clock: MockClock
) -> None:
    """The logger "etcdq" gets what a daemon would write."""
    caplog.set_level(logging.INFO, "etcdq")
    async with etcdq.open_node(drain_timeout=0) as node:
        port = int(node.endpoint.rpartition(":")[2])
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        await stream.send_all(b"PRI * HTTP/2.0\r\n")
        await trio.testing.wait_all_tasks_blocked()
    await stream.aclose()

    assert caplog.record_tuples == [
        (
            "etcdq",
            logging.WARNING,
            "connections were cut: they did not end in time after_s=0.0",
        )
    ]


def test_settings_are_those_of_the_daemon() -> None:
    """No setting of a node is missing from the typed ones, and none is made up."""
    assert set(NodeSettings.__annotations__) == set(NodeConfig.model_fields) - set(PROCESS_FIELDS)
