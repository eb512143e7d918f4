"""The product's commands: `python -m mail --help`, from the folder above."""

import sys

import click

from etcdq import EtcdqError
from mail import provider, puts, recover, store
from mail.puts import queue
from mail.settings import TUBES


@click.group()
def cli() -> None:
    """A small mail product."""


@cli.command()
def receive() -> None:
    """Let mails come in: a line `SENDER TEXT` of the standard input each."""
    for line in sys.stdin:
        sender, _, text = line.strip().partition(" ")
        provider.receive(sender, text)


@cli.command()
def reply() -> None:
    """Compose replies: a line `RECIPIENT TEXT` of the standard input each."""
    for line in sys.stdin:
        recipient, _, text = line.strip().partition(" ")
        reply_id, was_put = puts.compose(recipient, text)
        if not was_put:
            click.echo(f"reply {reply_id} is kept; backfill sends it when the queue is back")


@cli.command()
def show() -> None:
    """Show what there is, what was dropped, and what waits."""
    click.echo(", ".join(f"{count} {name}" for name, count in store.counts().items()))
    for each in store.dropped():
        click.echo(f"dropped: {each.message_id}: {each.why}")
    waiting = queue.queue_depths()  # "unknown", not 0, while the server is away
    click.echo("waiting: " + ", ".join(f"{tube} {waiting[tube]}" for tube in TUBES))


@cli.command()
def rewind() -> None:
    """Let dropped mails be polled again."""
    click.echo(f"{recover.rewind()} dropped mails are polled again")


@cli.command()
def backfill() -> None:
    """Let replies be sent whose jobs are gone."""
    click.echo(f"{recover.backfill()} replies are to be sent again")


if __name__ == "__main__":
    try:
        cli()
    except EtcdqError as error:
        sys.exit(f"mail: {error}")
    finally:
        store.close()
        queue.close()
