"""`etcdq queue`: look at queues and tend them."""

import json
from dataclasses import asdict
from typing import Any

import click

from etcdq import Client, Job, JobState, QueueStatistics, QueueSummary
from etcdq.cli.client import endpoints_option, json_option, run
from etcdq.cli.table import json_bytes, table

ALL = 2**63 - 1

_TABLES = ("summary", "tube", "consumers")
"""What `show` shows apart from a queue's own figures."""


@click.group()
def queue() -> None:
    """Look at queues and tend them.

    Exit codes: 0 done, 1 the server failed or there is no such queue, 2 wrong usage.
    """


@queue.command("ls")
@json_option
@endpoints_option
def list_queues(as_json: bool, endpoints: str | None) -> None:
    """List the queues of the node, by name."""
    summaries = run(Client.queues, endpoints)
    if as_json:
        _print_json([asdict(one) for one in summaries])
    else:
        head = ("QUEUE", "READY", "HELD", "DELAYED", "BURIED", "CONSUMERS", "WAITING")
        click.echo(table(head, [_counts(one) for one in summaries]))


@queue.command()
@click.argument("name")
@json_option
@endpoints_option
def show(name: str, as_json: bool, endpoints: str | None) -> None:
    """Show one queue: its counts, its figures as a tube, and the consumers of its watches.

    Consumers stand in the order of their turns. A "/" in a tube's name is spelled %2F.
    """

    async def ask(client: Client) -> QueueStatistics:
        return await client.queue(name).statistics()

    one = run(ask, endpoints)
    if as_json:
        _print_json(asdict(one))
        return
    own = {key: value for key, value in asdict(one).items() if key not in _TABLES}
    click.echo(_figures({**asdict(one.summary), **own}, "{:.1f}"))
    click.echo(f"\nAS A TUBE\n{_figures(asdict(one.tube), '{:.6f}')}")
    if one.consumers:
        head = ("CONSUMER", "PEER", "HELD", "BYTES", "CREDIT", "CREDIT BYTES", "AGE S")
        click.echo()
        click.echo(table(head, [tuple(asdict(each).values()) for each in one.consumers]))


@queue.command()
@click.argument("name")
@click.option(
    "--state",
    default="ready",
    show_default=True,
    type=click.Choice([state.value for state in JobState]),
    help="Which messages.",
)
@click.option(
    "--limit", default=1, show_default=True, type=click.IntRange(min=1), help="At most so many."
)
@json_option
@endpoints_option
def peek(name: str, state: str, limit: int, as_json: bool, endpoints: str | None) -> None:
    """Look at messages, the next one first, and leave them where they are."""

    async def ask(client: Client) -> list[Job]:
        return await client.queue(name).peek(JobState(state), limit=limit)

    jobs = run(ask, endpoints)
    if as_json:
        _print_json([_job_json(one) for one in jobs])
    else:
        head = ("INDEX", "KEY", "BYTES", "AGE S", "HOLDER", "BODY")
        rows = [
            (one.index, one.key, len(one.body), one.age_s, one.holder or "-", one.body)
            for one in jobs
        ]
        click.echo(table(head, rows))


@queue.command()
@click.argument("name")
@click.option("--bound", type=click.IntRange(min=1), help="At most so many.  [default: all]")
@json_option
@endpoints_option
def kick(name: str, bound: int | None, as_json: bool, endpoints: str | None) -> None:
    """Return buried messages to the line, or delayed ones where none is buried."""

    async def ask(client: Client) -> int:
        return await client.queue(name).kick(bound or ALL)

    _print_count("kicked", run(ask, endpoints), as_json)


@queue.command()
@click.argument("name")
@json_option
@endpoints_option
def purge(name: str, as_json: bool, endpoints: str | None) -> None:
    """Delete every message of a queue, those that consumers hold too."""

    async def ask(client: Client) -> int:
        return await client.queue(name).purge()

    _print_count("deleted", run(ask, endpoints), as_json)


@queue.command()
@click.argument("name")
@click.argument("seconds", type=click.FloatRange(min=0))
@json_option
@endpoints_option
def pause(name: str, seconds: float, as_json: bool, endpoints: str | None) -> None:
    """Hand out nothing for SECONDS; 0 ends a pause."""

    async def ask(client: Client) -> None:
        await client.queue(name).pause(seconds)

    run(ask, endpoints)
    if as_json:
        _print_json({"paused_s": seconds})
    else:
        click.echo(f"{name} is paused for {seconds:g} s" if seconds else f"{name} goes on")


def _counts(one: QueueSummary) -> tuple[object, ...]:
    return (one.name, one.ready, one.reserved, one.delayed, one.buried, one.consumers, one.waiting)


def _figures(figures: dict[str, object], real: str) -> str:
    """Return lines of names and figures; `real` is how those that are no integers look."""
    texts = [
        (key + ":", real.format(value) if isinstance(value, float) else str(value))
        for key, value in figures.items()
    ]
    return "\n".join(f"{key:26}{text}" for key, text in texts)


def _job_json(one: Job) -> dict[str, Any]:
    plain = {**asdict(one), "state": one.state.value}
    del plain["key"], plain["body"]
    return {**plain, **json_bytes("key", one.key), **json_bytes("body", one.body)}


def _print_count(verb: str, count: int, as_json: bool) -> None:
    if as_json:
        _print_json({verb: count})
    else:
        click.echo(f"{count} {'message' if count == 1 else 'messages'} {verb}")


def _print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
