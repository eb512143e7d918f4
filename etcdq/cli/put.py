"""`etcdq put`: put jobs into a tube."""

import os
import sys
from contextlib import aclosing
from typing import cast

import click

from etcdq.beanstalk import Client, EtcdqError, Inserted, PutOptions
from etcdq.beanstalk.commands import NUMBER_MAX
from etcdq.cli.beanstalk import DEFAULT_TUBE, address_option, answer_due, run, tube_option
from etcdq.cli.lines import read_lines

EXIT_REFUSED = 1
_NUMBER = click.IntRange(0, NUMBER_MAX)


@click.command()
@click.argument("body", required=False)
@tube_option
@click.option(
    "-p",
    "--pri",
    default=0,
    show_default=True,
    type=_NUMBER,
    help="Priority: the smallest leaves first.",
)
@click.option(
    "-d",
    "--delay",
    default=0,
    show_default=True,
    type=_NUMBER,
    help="Seconds until the job is ready.",
)
@click.option(
    "--ttr",
    default=60,
    show_default=True,
    type=_NUMBER,
    help="Seconds that a worker has for the job.",
)
@click.option(
    "-i",
    "--idp",
    metavar="KEY[:SECONDS]",
    help="Put no second job with this key while the tube has one, and so long after.",
)
@click.option("-g", "--grp", metavar="NAME", help="The group that the job belongs to.")
@click.option("--aft", metavar="NAME", help="The group to whose end the job waits.")
@click.option(
    "-c", "--con", metavar="KEY[:COUNT]", help="So many jobs with this key run at a time."
)
@address_option
def put(
    body: str | None,
    tube: str,
    pri: int,
    delay: int,
    ttr: int,
    address: str | None,
    **tags: str | None,
) -> int:
    """Put BODY into a tube as a job.

    Without BODY, or with "-", each line of the standard input becomes a job, in order; empty ones
    are left out. Prints the id of each job, and behind that the state of the job that has the
    idempotency key already. The tags --idp, --grp, --aft and --con need a server that knows them:
    etcdq or tuber.

    Exit codes: 0 all were put, 1 some were refused or the server failed, 2 wrong usage.
    """
    given = {tag: value for tag, value in tags.items() if value is not None}
    options = cast(PutOptions, {"priority": pri, "delay_s": delay, "ttr_s": ttr, **given})
    if body is None or body == "-":
        return run(_put_lines, address, tube, options)
    return run(_put_one, address, tube, os.fsencode(body), options)


async def _put_one(client: Client, tube: str, body: bytes, options: PutOptions) -> int:
    with answer_due(client):
        await _use(client, tube)
        _show(await client.put(body, **options))
    return 0


async def _put_lines(client: Client, tube: str, options: PutOptions) -> int:
    with answer_due(client):
        await _use(client, tube)
    number, code = 0, 0
    async with aclosing(read_lines()) as chunks:
        async for lines in chunks:
            numbered = [(place, line) for place, line in enumerate(lines, number + 1) if line]
            number += len(lines)
            with answer_due(client):
                outcomes = await client.put_many([line for _, line in numbered], **options)
            for (place, _), outcome in zip(numbered, outcomes, strict=True):
                if isinstance(outcome, EtcdqError):
                    print(f"etcdq put: line {place}: {outcome.text}", file=sys.stderr)
                    code = EXIT_REFUSED
                else:
                    _show(outcome)
            if outcomes and all(isinstance(outcome, EtcdqError) for outcome in outcomes):
                break  # it takes none at all, and will not take a million more
    return code


async def _use(client: Client, tube: str) -> None:
    if tube != DEFAULT_TUBE:
        await client.use(tube)


def _show(one: Inserted) -> None:
    words = (one.job_id, one.state, one.priority)
    click.echo(" ".join(str(word) for word in words if word is not None))
