"""The commands that only look, as `asking.py` has all others: at jobs, tubes and the node."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from etcdq.actors.message import Address
from etcdq.actors.queue import messages as queue
from etcdq.actors.queue import tube_messages as tubes
from etcdq.server.beanstalk import answering, commands, replies
from etcdq.server.beanstalk.documents import list_tubes
from etcdq.server.beanstalk.node_statistics import stats
from etcdq.server.beanstalk.statistics import stats_group

if TYPE_CHECKING:
    from etcdq.server.beanstalk.session import Session


def _peek(session: "Session", command: commands.Peek) -> None:
    session.given["peek"] += 1
    message = tubes.PeekJob(Address(session.handle, session.next_tag), command.job_id)
    session.ask(session.job(command.job_id), message, answering.peek)


def _peek_tube(
    session: "Session",
    command: commands.PeekReady
    | commands.PeekDelayed
    | commands.PeekBuried
    | commands.PeekReserved,
) -> None:
    session.given[command.name] += 1
    message = queue.Peek(Address(session.handle, session.next_tag), command.state, 1)
    session.ask(session.used, message, answering.peek_tube)


def _stats(session: "Session", _: commands.Stats) -> None:
    session.given["stats"] += 1
    door = session.door
    session.at_its_turn(
        lambda: replies.ok(stats(door.totals(), door.counts, door.facts(), door.settings))
    )


def _stats_job(session: "Session", command: commands.StatsJob) -> None:
    session.given["stats-job"] += 1
    message = tubes.ShowJob(Address(session.handle, session.next_tag), command.job_id)
    session.ask(session.job(command.job_id), message, session.answer_stats_job)


def _stats_tube(session: "Session", command: commands.StatsTube) -> None:
    session.given["stats-tube"] += 1
    message = tubes.ShowTube(Address(session.handle, session.next_tag))
    session.ask(session.door.queue(command.tube), message, session.answer_stats_tube)


def _stats_group(session: "Session", command: commands.StatsGroup) -> None:
    session.given["stats-group"] += 1
    session.given["stats"] += 1

    def show() -> bytes:
        group = session.door.group(command.group)
        return replies.NOT_FOUND if group is None else replies.ok(stats_group(command.group, group))

    session.at_its_turn(show)


def _list_tubes(session: "Session", _: commands.ListTubes) -> None:
    session.given["list-tubes"] += 1
    session.at_its_turn(lambda: replies.ok(list_tubes(session.door.tubes())))


def _list_tube_used(session: "Session", command: commands.ListTubeUsed) -> None:
    session.given["list-tube-used"] += 1
    session.say(replies.using(session.using))


def _list_tubes_watched(session: "Session", command: commands.ListTubesWatched) -> None:
    session.given["list-tubes-watched"] += 1
    # Thousands of them may be watched and asked for in one packet: no more are made than are read.
    session.at_its_turn(lambda: replies.ok(list_tubes(session.watched)))


LOOKING: dict[type, Callable[["Session", Any], None]] = {
    commands.Peek: _peek,
    commands.PeekReady: _peek_tube,
    commands.PeekDelayed: _peek_tube,
    commands.PeekBuried: _peek_tube,
    commands.PeekReserved: _peek_tube,
    commands.Stats: _stats,
    commands.StatsJob: _stats_job,
    commands.StatsTube: _stats_tube,
    commands.StatsGroup: _stats_group,
    commands.ListTubes: _list_tubes,
    commands.ListTubeUsed: _list_tube_used,
    commands.ListTubesWatched: _list_tubes_watched,
}
