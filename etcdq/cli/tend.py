"""`etcdq peek`, `kick`, `drain` and `undrain`: look at jobs of a beanstalk server and tend them."""

import json
from collections.abc import Awaitable, Callable

import click

from etcdq.beanstalk import Client, Job, NotFoundError, Statistics
from etcdq.beanstalk.client import KICK_MAX
from etcdq.beanstalk.commands import ID_MAX
from etcdq.cli.beanstalk import address_option, ask, tube_option
from etcdq.cli.client import json_option
from etcdq.cli.table import json_bytes, table

PEEKS: dict[str, Callable[[Client], Awaitable[Job]]] = {
    "ready": Client.peek_ready,
    "delayed": Client.peek_delayed,
    "buried": Client.peek_buried,
    "reserved": Client.peek_reserved,
}
COLUMNS = {
    "ID": "id",
    "STATE": "state",
    "PRI": "pri",
    "AGE S": "age",
    "LEFT S": "time-left",
    "RESERVES": "reserves",
    "RELEASES": "releases",
    "TIMEOUTS": "timeouts",
}
_ID = click.IntRange(0, ID_MAX)


@click.command()
@click.argument("job_id", metavar="[ID]", required=False, type=_ID)
@tube_option
@click.option(
    "--state",
    default="ready",
    show_default=True,
    type=click.Choice(list(PEEKS)),
    help="Of which jobs to show the first.",
)
@json_option
@address_option
def peek(job_id: int | None, tube: str, state: str, as_json: bool, address: str | None) -> None:
    """Look at the job ID, or at the first one of a tube, and leave it where it is.

    Exit codes: 0 done, 1 the server failed or there is no such job, 2 wrong usage.
    """

    async def look(client: Client) -> tuple[Job, Statistics]:
        if job_id is not None:
            job = await client.peek(job_id)
        else:
            await client.use(tube)
            try:
                job = await PEEKS[state](client)
            except NotFoundError as error:
                raise NotFoundError(f"there is no {state} job in {tube}") from error
        return job, await client.stats_job(job.job_id)

    job, figures = ask(look, address)
    if as_json:
        shown = {**figures, **json_bytes("body", job.body)}
        click.echo(json.dumps(shown, indent=2, ensure_ascii=False))
    else:
        row = [figures.get(field, "-") for field in COLUMNS.values()]
        click.echo(table((*COLUMNS, "BYTES", "BODY"), [(*row, len(job.body), job.body)]))


@click.command()
@click.argument("job_ids", metavar="[ID]...", nargs=-1, type=_ID)
@tube_option
@click.option("--bound", type=click.IntRange(1, KICK_MAX), help="At most so many.  [default: all]")
@address_option
def kick(job_ids: tuple[int, ...], tube: str, bound: int | None, address: str | None) -> None:
    """Make the jobs ID ready, or the buried ones of a tube, or its delayed ones if none is buried.

    Exit codes: 0 done, 1 the server failed or there is no such job, 2 wrong usage.
    """
    if job_ids and bound is not None:
        raise click.UsageError("--bound is for the jobs of a tube: give no ID")

    async def kick_them(client: Client) -> int:
        if not job_ids:
            await client.use(tube)
            return await client.kick(bound or KICK_MAX)
        for job_id in job_ids:
            await client.kick_job(job_id)
        return len(job_ids)

    count = ask(kick_them, address)
    click.echo(f"{count} {'job' if count == 1 else 'jobs'} kicked")


@click.command()
@address_option
def drain(address: str | None) -> None:
    """Let the server take no more jobs; it still hands out what it has.

    Exit codes: 0 done, 1 the server failed or cannot do this (beanstalkd drains at SIGUSR1),
    2 wrong usage.
    """
    ask(Client.drain, address)
    click.echo("draining: no more jobs are taken until `etcdq undrain`")


@click.command()
@address_option
def undrain(address: str | None) -> None:
    """Let a draining server take jobs again.

    Exit codes: 0 done, 1 the server failed or cannot do this, 2 wrong usage.
    """
    ask(Client.undrain, address)
    click.echo("not draining: jobs are taken")
