"""`etcdq demo`: a node, two producers and three consumers in one terminal, in about 15 s.

Consumer 1 gets bodies that are larger than its HTTP/2 window, and stops reading after a while: the
message it was just getting is stuck half-way. After 5 s without progress the node drops it, and
that message moves on; the one it had in hand is buried. Everybody else never notices.
"""

import logging
import sys

import click
import trio

import etcdq
from etcdq.cli.client import run_trio
from etcdq.cli.demo_stall import StallingConsumer
from etcdq.cli.demo_story import Story

QUEUE = "demo"
BODY = b"x" * 100_000
PRODUCER_PERIOD_S = 0.04
PRODUCE_FOR_S = 12.0
WORK_S = 0.05
END_BY_S = 30.0
LOOK_PERIOD_S = 0.1
PEEK_LIMIT = 100


@click.command()
def demo() -> None:
    """Show a node at work: two producers, three consumers, one of which stops reading.

    Ends by itself after about 15 s with a summary. Exit code 0: nothing was lost.
    """
    # The node's warnings are part of the story, and told there.
    logging.getLogger("etcdq").addHandler(logging.NullHandler())
    story = Story()
    try:
        run_trio(_play, story)
    except etcdq.EtcdqError as error:
        raise click.ClickException(error.text) from error
    click.echo(story.summary())
    if not story.adds_up:
        raise click.ClickException("the sums do not add up")


async def _play(story: Story) -> None:
    async with (
        etcdq.open_node(listen_client_urls="http://127.0.0.1:0") as node,
        etcdq.connect(node.endpoint) as client,
        trio.open_nursery() as nursery,
    ):
        queue = client.queue(QUEUE)
        stalling = StallingConsumer(node.endpoint, QUEUE, story)
        await nursery.start(stalling.consume)
        for number in (2, 3):
            await nursery.start(_consume, node.endpoint, number, story)
        story.begin()
        nursery.start_soon(_show_table if sys.stdout.isatty() else _show_lines, story)
        nursery.start_soon(_look, queue, story)
        nursery.start_soon(_look_at_stalled, queue, str(stalling.uuid), story)
        async with trio.open_nursery() as producers:
            for letter in ("a", "b"):
                producers.start_soon(_produce, queue, letter, story)
        with trio.move_on_after(END_BY_S - PRODUCE_FOR_S):
            await story.finished.wait()
        nursery.cancel_scope.cancel()


async def _produce(queue: etcdq.Queue, letter: str, story: Story) -> None:
    number = 0
    while story.elapsed_s < PRODUCE_FOR_S:
        number += 1
        key = await queue.put(BODY, f"{letter}-{number}")
        story.note_put(key)
        await trio.sleep(PRODUCER_PERIOD_S)


async def _consume(
    endpoint: str, number: int, story: Story, *, task_status: trio.TaskStatus[None]
) -> None:
    async with (
        etcdq.connect(endpoint) as client,
        client.queue(QUEUE).consume() as messages,
    ):
        task_status.started()
        async for message in messages:
            await trio.sleep(WORK_S)  # the work
            if await message.ack():
                story.note_ack(number, message.key)


async def _look(queue: etcdq.Queue, story: Story) -> None:
    """Watch the queue from outside, as `etcdq queue show` does."""
    while True:
        story.note_statistics(await queue.statistics(), producing=story.elapsed_s < PRODUCE_FOR_S)
        await trio.sleep(LOOK_PERIOD_S)


async def _look_at_stalled(queue: etcdq.Queue, uuid: str, story: Story) -> None:
    """Note once, between its stall and its drop, which messages consumer 1 has."""
    await story.stalled.wait()
    await trio.sleep(1)
    held = await queue.peek(etcdq.JobState.RESERVED, limit=PEEK_LIMIT)
    story.note_held_by_stalled(frozenset(one.key for one in held if one.holder == uuid))


async def _show_lines(story: Story) -> None:
    while True:
        await trio.sleep(1)
        print(story.line(), flush=True)


async def _show_table(story: Story) -> None:
    from rich.live import Live
    from rich.table import Table

    def picture() -> Table:
        table = Table(title=f"etcdq demo, {story.elapsed_s:.0f} s", caption=story.headline())
        table.add_column("who", min_width=12)
        for name in ("messages", "per second"):
            table.add_column(name, justify="right", min_width=10)
        table.add_column("state", min_width=32)
        for row in story.rows():
            table.add_row(*row)
        return table

    with Live(picture(), auto_refresh=False) as live:
        while True:
            await trio.sleep(0.25)
            live.update(picture(), refresh=True)
