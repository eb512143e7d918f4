"""The commands as values."""

import msgspec

from etcdq.server.beanstalk import commands
from etcdq.server.beanstalk.commands import Command
from etcdq.server.beanstalk.counts import COMMANDS


def test_each_has_its_name() -> None:
    """Every command has a name of its own, and the door counts every one."""
    names = [each.name for each in Command.__subclasses__()]

    assert len(names) == len(set(names))
    assert set(names) == set(COMMANDS)


def test_they_are_values() -> None:
    """Commands compare by what they say, and their names take no room in them."""
    said = {commands.Delete(5), commands.Delete(5), commands.Delete(6), commands.Touch(5)}
    assert len(said) == 3
    assert [field.name for field in msgspec.structs.fields(commands.Put)] == [
        "priority", "delay_s", "ttr_s", "body", "tags",
    ]  # fmt: skip
    assert commands.Reserve().timeout_s is None
