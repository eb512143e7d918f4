"""The counters of the door."""

from etcdq.server.beanstalk import commands
from etcdq.server.beanstalk.counts import COMMANDS, CommandCounts


def test_every_command_has_its_counter() -> None:
    """What a client can ask is what is counted, all from 0."""
    names = {command.name for command in commands.Command.__subclasses__()}
    assert set(COMMANDS) == names
    assert len(COMMANDS) == len(names)
    assert CommandCounts().given == dict.fromkeys(names, 0)


def test_each_node_counts_apart() -> None:
    """Two nodes in one program share no counter."""
    one, two = CommandCounts(), CommandCounts()
    one.given["put"] += 1
    assert two.given["put"] == 0
