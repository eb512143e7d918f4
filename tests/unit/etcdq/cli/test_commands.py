"""The list of commands, which loads none of them."""

import click
import pytest

from etcdq.cli import _COMMANDS, cli
from tests.unit.test_exports import loaded_after


@pytest.mark.parametrize("name", list(_COMMANDS))
def test_command_is_there(name: str) -> None:
    """What the list names is a command of that name, with a text of its own."""
    command = cli.get_command(click.Context(cli), name)

    assert command is not None
    assert command.name == name
    assert command.help


def test_help_loads_no_command() -> None:
    """`etcdq --help` shows every command with its text, and loads none."""
    program = "import etcdq.cli; etcdq.cli.cli.main(['--help'], standalone_mode=False)"
    loaded = loaded_after(program)

    assert set(_COMMANDS) <= loaded  # the first words of what it printed
    assert not {each for each in loaded if each.startswith("etcdq.cli.")}
    assert "trio" not in loaded


@pytest.mark.parametrize("name", ["put", "work", "tubes", "top", "kick", "drain"])
def test_beanstalk_commands_load_no_grpc(name: str) -> None:
    """What speaks beanstalk loads neither the etcd client's libraries nor rich."""
    module = _COMMANDS[name][0].partition(":")[0]
    loaded = loaded_after(f"import {module}")

    assert not loaded & {"grpclib", "betterproto", "google.protobuf", "rich", "pydantic"}
