"""`etcdq produce`: put messages."""

import os
import sys
from contextlib import aclosing

import click

from etcdq import Client, EtcdqError
from etcdq.cli.client import endpoints_option, run
from etcdq.cli.lines import read_lines


@click.command()
@click.argument("name")
@click.argument("body", required=False)
@click.option("--key", help="Producer key of the message, without '/'.  [default: a UUID]")
@endpoints_option
def produce(name: str, body: str | None, key: str | None, endpoints: str | None) -> None:
    """Put BODY into the queue NAME.

    Without BODY, or with "-", each line of the standard input becomes a message, in order.
    Prints how many were put. Exit codes: 0 all were put, 1 the server failed, 2 wrong usage.
    """
    from_stdin = body is None or body == "-"
    if from_stdin and key is not None:
        raise click.UsageError("--key is for one message: give its BODY")
    if from_stdin:
        count = run(_put_lines, endpoints, name)
    else:
        count = run(_put_one, endpoints, name, body, key)
    click.echo(f"{count} {'message' if count == 1 else 'messages'} put into {name}")


async def _put_one(client: Client, name: str, body: str, key: str | None) -> int:
    await client.queue(name).put(os.fsencode(body), key)
    return 1


async def _put_lines(client: Client, name: str) -> int:
    queue, count = client.queue(name), 0
    async with aclosing(read_lines()) as chunks:
        async for lines in chunks:
            try:
                await queue.put_many(lines)
            except EtcdqError as error:
                print(f"{count} messages were put before this:", file=sys.stderr)
                raise error
            count += len(lines)
    return count
