"""What a node gives to its doors."""

import time
from typing import Any

import trio
from trio.testing import MockClock

from etcdq.actors.effect import Reply
from etcdq.actors.errors import DrainingError, OverLimitError
from etcdq.actors.message import Address
from etcdq.actors.node.messages import KeyPut, PutKey
from etcdq.actors.queue.messages import Credit, Deleted, Inserted, Purge, Put
from etcdq.actors.shell import log_nowhere
from etcdq.server.config import embedded_config
from etcdq.server.node import Node


class Asker:
    """Asks one thing at a time and keeps the replies."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []

    def post(self, reply: Reply) -> None:
        self.replies.append(reply)

    async def ask(self, handle: Any, kind: Any, **fields: Any) -> Any:
        """Post a request and return its reply."""
        handle.post(kind(to=Address(self, 0), **fields))
        await trio.testing.wait_all_tasks_blocked()
        return self.replies.pop().value


def node_of(**settings: Any) -> Node:
    return Node(embedded_config(settings), ["http://127.0.0.1:1"], log=log_nowhere)


def test_identity() -> None:
    """A node has its name and addresses, and without a store new ids at every start."""
    first, second = node_of(name="a").door.identity, node_of().door.identity

    assert (first.name, first.client_urls) == ("a", ("http://127.0.0.1:1",))
    ids = {first.cluster_id, first.member_id, second.cluster_id, second.member_id}
    assert len(ids) == 4
    assert all(0 < each < 2**64 for each in ids)


def test_settings_reach_the_door() -> None:
    """What the operator chose is what the door goes by."""
    settings = node_of(
        queue_prefixes="/a/,/b/",
        max_request_bytes=10,
        accept_timeout=1,
        consumer_credit="2,3",
        max_jobs_per_queue=4,
        max_jobs_size="5k",
    ).door.settings

    assert settings.queue_prefixes == (b"/a/", b"/b/")
    assert settings.request_bytes_max == 10
    assert settings.accept_timeout_s == 1.0
    assert settings.credit == Credit(2, 3)
    assert settings.jobs_per_queue_max == 4
    assert settings.jobs_bytes_max == 5_120


async def test_queues_and_keys_answer(autojump_clock: MockClock) -> None:
    """Puts on both kinds of key are answered, and the board has the revision of the reply."""
    node, asker = node_of(), Asker()
    door = node.door
    assert door.board["revision"] == 1
    async with trio.open_nursery() as nursery:
        await node.start(nursery)
        before_us = time.time_ns() // 1_000
        put = await asker.ask(door.queue(b"jobs"), Put, key=b"k", tail=b"k", body=b"x")
        kept = await asker.ask(door.keys, PutKey, key=b"a", value=b"b")
        nursery.cancel_scope.cancel()

    assert type(put) is Inserted
    assert put.job_id == 1
    # The index counts from the wall clock at the node's birth.
    assert before_us - 60_000_000 < put.index <= before_us
    assert type(kept) is KeyPut
    assert door.board["revision"] == kept.revision > 1


async def test_census_and_handles_create_nothing(autojump_clock: MockClock) -> None:
    """A queue is there from its first put on; a handle to it alone is nothing."""
    node, asker = node_of(), Asker()
    async with trio.open_nursery() as nursery:
        await node.start(nursery)
        node.door.queue(b"a")
        assert node.door.census() == []
        await asker.ask(node.door.queue(b"b"), Put, key=b"k", tail=b"k", body=b"x")
        census = node.door.census()
        nursery.cancel_scope.cancel()

    assert [(queue.name, queue.ready) for queue in census] == [(b"b", 1)]


async def test_limits_hold_over_all_queues(autojump_clock: MockClock) -> None:
    """--max-jobs-size counts all queues together, --max-jobs-per-queue each."""
    node, asker = node_of(max_jobs_size="2k", max_jobs_per_queue=2), Asker()
    async with trio.open_nursery() as nursery:
        await node.start(nursery)
        first, second = node.door.queue(b"first"), node.door.queue(b"second")
        for _ in range(2):
            assert type(await asker.ask(first, Put, key=b"", tail=b"", body=b"")) is Inserted
        full = await asker.ask(first, Put, key=b"", tail=b"", body=b"")
        big = await asker.ask(second, Put, key=b"", tail=b"", body=bytes(2_048))
        nursery.cancel_scope.cancel()

    assert type(full) is OverLimitError
    assert type(big) is OverLimitError


async def test_drain_refuses_puts_only(autojump_clock: MockClock) -> None:
    """A node that is about to stop takes no new work; what shrinks a queue still works."""
    node, asker = node_of(), Asker()
    async with trio.open_nursery() as nursery:
        await node.start(nursery)
        queue = node.door.queue(b"jobs")
        await asker.ask(queue, Put, key=b"k", tail=b"k", body=b"x")
        node.drain()
        refused = await asker.ask(queue, Put, key=b"k", tail=b"k", body=b"x")
        purged = await asker.ask(queue, Purge)
        nursery.cancel_scope.cancel()

    assert type(refused) is DrainingError
    assert type(purged) is Deleted
    assert len(purged.jobs) == 1
