"""`etcdq tubes` and `etcdq stats`: what a beanstalk server has, and what it counts."""

import json

import click

from etcdq.beanstalk import Client, Statistics
from etcdq.beanstalk.records import Figure
from etcdq.cli.beanstalk import address_option, ask
from etcdq.cli.client import json_option
from etcdq.cli.table import table

COLUMNS = {
    "READY": "current-jobs-ready",
    "RESERVED": "current-jobs-reserved",
    "DELAYED": "current-jobs-delayed",
    "BURIED": "current-jobs-buried",
    "WAITING": "current-waiting",
    "WATCHING": "current-watching",
}


@click.command()
@json_option
@address_option
def tubes(as_json: bool, address: str | None) -> None:
    """List the tubes and how many jobs they have.

    Exit codes: 0 done, 1 the server failed, 2 wrong usage.
    """
    found = ask(Client.stats_tubes, address)
    if as_json:
        _print_json({name: dict(figures) for name, figures in found.items()})
        return
    rows = [
        (name, *(figures.count(field) for field in COLUMNS.values()))
        for name, figures in found.items()
    ]
    click.echo(table(("TUBE", *COLUMNS), rows))


@click.command()
@click.option("-t", "--tube", help="Of this tube.  [default: of the server]")
@json_option
@address_option
def stats(tube: str | None, as_json: bool, address: str | None) -> None:
    """Show the statistics of the server or of one tube.

    Exit codes: 0 done, 1 the server failed or there is no such tube, 2 wrong usage.
    """

    async def statistics(client: Client) -> Statistics:
        return await (client.stats() if tube is None else client.stats_tube(tube))

    figures = ask(statistics, address)
    if as_json:
        _print_json(dict(figures))
    else:
        for name, value in figures.items():
            click.echo(f"{name}: {_shown(value)}")


def _shown(value: Figure) -> str:
    return f"{value:.6f}" if isinstance(value, float) else str(value)


def _print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
