"""`etcdq top`: watch the tubes of a beanstalk server."""

import sys
from collections.abc import Callable

import click
import trio

from etcdq.beanstalk import Client
from etcdq.cli.beanstalk import address_option, answer_due, run
from etcdq.cli.table import table
from etcdq.cli.top_view import Picture, Sample, picture_of


@click.command()
@click.option(
    "--interval",
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    type=click.FloatRange(min=0.1),
    help="Time between two looks.",
)
@click.option("--count", type=click.IntRange(min=1), help="End after so many looks.")
@address_option
def top(interval: float, count: int | None, address: str | None) -> None:
    """Watch all tubes of a server: jobs put, reserved and deleted per second, how many are in
    which state, who waits and watches, and in seconds how long jobs take and how long they were
    queued, where the server measures that.

    Ends after --count looks, or at Ctrl-C. Where the output is no terminal, each look is a plain
    table. The first look has no rates yet.

    Exit codes: 0 done, 1 the server failed, 2 wrong usage, 130 interrupted.
    """
    run(_show_live if sys.stdout.isatty() else _show_plain, address, interval, count)


async def _show_plain(client: Client, interval_s: float, count: int | None) -> None:
    def show(picture: Picture) -> None:
        text = table(picture.head, picture.rows, [place > 0 for place in range(len(picture.head))])
        click.echo(f"{picture.headline}\n{text}\n")

    await _look(client, interval_s, count, show)


async def _show_live(client: Client, interval_s: float, count: int | None) -> None:
    from rich.console import Group
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

    def show(picture: Picture) -> None:
        grid = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        grid.add_column(picture.head[0], no_wrap=True)  # the one that gives way
        for name in picture.head[1:]:
            grid.add_column(name, justify="right", no_wrap=True, min_width=len(name))
        for row in picture.rows:
            grid.add_row(*map(Text, row))
        live.update(Group(Text(picture.headline), grid), refresh=True)

    with Live(auto_refresh=False) as live:
        await _look(client, interval_s, count, show)


async def _look(
    client: Client, interval_s: float, count: int | None, show: Callable[[Picture], None]
) -> None:
    before: Sample | None = None
    looks = 0
    while True:
        with answer_due(client):
            now = Sample(trio.current_time(), await client.stats(), await client.stats_tubes())
        show(picture_of(client.address, before, now))
        looks += 1
        if looks == count:
            return
        before = now
        await trio.sleep(interval_s)
