"""The demo's consumer 1: takes messages for a while, then stops reading.

It stands on grpclib itself, because the client library always reads: its HTTP/2 window is the
smallest there is, and grpclib opens it again only for what the application has read.
"""

import asyncio
from uuid import uuid4

import trio
import trio_asyncio
from grpclib.client import Channel, UnaryUnaryMethod
from grpclib.config import Configuration
from grpclib.const import Cardinality

from etcdq.cli.demo_story import Story
from etcdq.client.endpoints import parse_endpoint
from etcdq.client.hot import DELETE_PATH
from etcdq.client.keys import QueueKeys, split_delivery
from etcdq.client.stream import WATCH_PATH
from etcdq.wire.upb import kv_pb2, rpc_pb2

WINDOW_BYTES = 65_535
STALL_AFTER_S = 3.0
WORK_S = 0.05


class StallingConsumer:
    """Consumer 1.

    Args:
        endpoint: of the node.
        queue: the queue's name.
        story: told what happens, and asked for the time.
    """

    def __init__(self, endpoint: str, queue: str, story: Story) -> None:
        self._endpoint = parse_endpoint(endpoint)
        self.uuid = uuid4()
        self._key = QueueKeys(queue).consumer(self.uuid)
        self._story = story

    async def consume(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Consume until cancelled."""
        async with trio_asyncio.open_loop() as loop:
            await loop.run_aio_coroutine(self._consume(task_status))

    async def _consume(self, task_status: trio.TaskStatus[None]) -> None:
        # The connection's window stays wide: answers to acknowledgements have to pass.
        config = Configuration(http2_stream_window_size=WINDOW_BYTES)
        create = rpc_pb2.WatchCreateRequest(key=self._key)
        async with (
            Channel(self._endpoint.host, self._endpoint.port, config=config) as channel,
            channel.request(
                WATCH_PATH, Cardinality.STREAM_STREAM, rpc_pb2.WatchRequest, rpc_pb2.WatchResponse
            ) as stream,
        ):
            await stream.send_message(rpc_pb2.WatchRequest(create_request=create))
            await stream.recv_message()
            task_status.started()
            while (response := await stream.recv_message()) is not None:
                for event in response.events:
                    if not await self._work(channel, event.kv):
                        await asyncio.Event().wait()  # reads no more, whatever comes

    async def _work(self, channel: Channel, kv: kv_pb2.KeyValue) -> bool:
        """Work on a message and acknowledge it; False: it is time to stop, with it in hand."""
        _, key = split_delivery(kv.key)
        if self._story.elapsed_s >= STALL_AFTER_S:
            self._story.note_stall()
            return False
        await asyncio.sleep(WORK_S)
        delete = UnaryUnaryMethod(
            channel, DELETE_PATH, rpc_pb2.DeleteRangeRequest, rpc_pb2.DeleteRangeResponse
        )
        response = await delete(rpc_pb2.DeleteRangeRequest(key=kv.key))
        if response is not None and response.deleted:
            self._story.note_ack(1, key)
        return True
