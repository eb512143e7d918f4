"""What each command asks of whom: one function per command, found in a table by its type.

Commands on jobs and tubes become one message each. What a client says about itself (which tube it
uses, which it watches) changes the session at once, and is told to the queues it concerns.
"""

from collections.abc import Callable
from itertools import groupby
from typing import TYPE_CHECKING, Any

from etcdq.actors.message import Address, Handle
from etcdq.actors.queue import messages as queue
from etcdq.actors.queue import tube_messages as tubes
from etcdq.actors.worker import messages as worker
from etcdq.server.beanstalk import answering, commands, replies
from etcdq.server.beanstalk.looking import LOOKING

if TYPE_CHECKING:
    from etcdq.server.beanstalk.session import Session

# producing ----------------------------------------------------------------------------------


def _put(session: "Session", command: commands.Put) -> None:
    session.given["put"] += 1
    if not session.is_producer:
        session.become_producer()
    to = Address(session.handle, session.next_tag)
    session.ask(session.used, _job(to, command), answering.put)


def _puts(session: "Session", row: list[commands.Put]) -> None:
    session.given["put"] += len(row)
    if not session.is_producer:
        session.become_producer()
    to = Address(session.handle, session.next_tag)
    message = tubes.Puts(to, tuple([_job(to, command) for command in row]))
    session.ask(session.used, message, answering.puts)


def _job(to: Address, command: commands.Put) -> queue.Put:
    # The job's id is its key.
    body, priority = command.body, command.priority
    return queue.Put(to, b"", b"", body, priority, command.delay_s, command.ttr_s, command.tags)


def _use(session: "Session", command: commands.Use) -> None:
    if session.hold_if_behind(command):
        return
    session.given["use"] += 1
    session.use(command.tube)
    session.say(replies.using(command.tube))


# consuming ----------------------------------------------------------------------------------


def _reserve(session: "Session", command: commands.Reserve | commands.ReserveWithTimeout) -> None:
    session.given[command.name] += 1
    if not session.is_worker:
        session.become_worker()
    to = Address(session.handle, session.next_tag)
    session.ask_worker(worker.Reserve(to, command.timeout_s), answering.reserve)


def _reserves(session: "Session", row: list[Any]) -> None:
    session.given[row[0].name] += len(row)
    if not session.is_worker:
        session.become_worker()
    for command, same in groupby(row):
        count = len(list(same))
        to = Address(session.handle, session.next_tag)
        session.ask_worker(worker.Reserve(to, command.timeout_s, count), answering.reserve, count)


def _reserve_job(session: "Session", command: commands.ReserveJob) -> None:
    session.given["reserve-job"] += 1
    answer: answering.Answer = answering.reserve
    if not session.is_worker:
        if session.door.settings.dialect == "tuber":
            session.become_worker()
        else:
            answer = _as_worker(session)
    to = Address(session.handle, session.next_tag)
    session.ask_worker(worker.ReserveThis(to, command.job_id), answer)


def _as_worker(session: "Session") -> answering.Answer:
    """beanstalkd counts who reserves by id among the workers only when it gets the job."""

    def answer(value: Any) -> bytes | None:
        if type(value) is worker.Reserved and not session.is_worker:
            session.become_worker()
        return answering.reserve(value)

    return answer


def _reserve_batch(session: "Session", command: commands.ReserveBatch) -> None:
    session.given["reserve-batch"] += 1
    session.given["reserve"] += 1
    if not session.is_worker:
        session.become_worker()
    to = Address(session.handle, session.next_tag)
    session.ask_worker(worker.ReserveBatch(to, command.count), answering.reserve_batch)


def _reserve_mode(session: "Session", command: commands.ReserveMode) -> None:
    if session.hold_if_behind(command):
        return
    session.given["reserve-mode"] += 1
    session.worker.post(worker.SetMode(command.mode))
    session.say(replies.using(command.word))


def _watch(session: "Session", command: commands.Watch) -> None:
    if session.hold_if_behind(command):
        return
    session.given["watch"] += 1
    if command.tube not in session.watched:
        session.watched.append(command.tube)
    session.worker.post(worker.WatchTube(command.tube, command.weight))
    session.say(replies.watching(len(session.watched)))


def _ignore(session: "Session", command: commands.Ignore) -> None:
    if session.hold_if_behind(command):
        return
    session.given["ignore"] += 1
    watched = session.watched
    as_tuber = session.door.settings.dialect == "tuber"
    if len(watched) == 1 and (as_tuber or command.tube in watched):
        session.say(replies.NOT_IGNORED)
        return
    if command.tube in watched:
        place = watched.index(command.tube)
        if as_tuber:
            del watched[place]
        else:
            # The last takes the hole: so `list-tubes-watched` has them in beanstalkd's order.
            watched[place] = watched[-1]
            watched.pop()
        session.worker.post(worker.IgnoreTube(command.tube))
    session.say(replies.watching(len(watched)))


def _delete(session: "Session", command: commands.Delete) -> None:
    session.given["delete"] += 1
    job_id = command.job_id
    to = Address(session.handle, session.next_tag)
    message = tubes.DeleteJob(to, job_id, session.connection)
    session.ask(session.job(job_id), message, answering.delete)


def _deletes(session: "Session", row: list[commands.Delete]) -> None:
    job_ids = [command.job_id for command in row]
    queues = session.door.queues_of(job_ids)
    name = queues.pop()
    if name is None or queues:  # of several queues, or not there yet
        for command in row:
            _delete(session, command)
        return
    session.given["delete"] += len(row)
    to = Address(session.handle, session.next_tag)
    message = tubes.DeleteJobs(to, tuple(job_ids), session.connection)
    session.ask(session.door.queue(name), message, answering.deletes)


def _delete_batch(session: "Session", command: commands.DeleteBatch) -> None:
    session.given["delete-batch"] += 1
    session.given["delete"] += len(command.job_ids)
    to = Address(session.handle, session.next_tag)
    door, connection = session.door, session.connection
    messages: list[tuple[Handle, Any]] = []
    by_queue: dict[bytes, list[int]] = {}
    for job_id in command.job_ids:
        name = door.queue_of(job_id)
        if name is None:  # it may be there when it is asked for
            messages.append((session.job(job_id), tubes.DeleteJob(to, job_id, connection)))
        else:
            by_queue.setdefault(name, []).append(job_id)
    for name, job_ids in by_queue.items():
        messages.append((door.queue(name), tubes.DeleteJobs(to, tuple(job_ids), connection)))
    session.ask_many(messages, answering.DeletedBatch(len(command.job_ids), len(messages)))


def _release(session: "Session", command: commands.Release) -> None:
    session.given["release"] += 1
    job_id = command.job_id
    to = Address(session.handle, session.next_tag)
    message = tubes.ReleaseJob(to, job_id, session.connection, command.priority, command.delay_s)
    session.ask(session.job(job_id), message, answering.release)


def _bury(session: "Session", command: commands.Bury) -> None:
    session.given["bury"] += 1
    job_id = command.job_id
    to = Address(session.handle, session.next_tag)
    message = tubes.BuryJob(to, job_id, session.connection, command.priority)
    session.ask(session.job(job_id), message, answering.bury)


def _touch(session: "Session", command: commands.Touch) -> None:
    session.given["touch"] += 1
    job_id = command.job_id
    to = Address(session.handle, session.next_tag)
    message = tubes.TouchJob(to, job_id, session.connection)
    session.ask(session.job(job_id), message, answering.touch)


# kicking, tubes and the node ----------------------------------------------------------------


def _kick(session: "Session", command: commands.Kick) -> None:
    session.given["kick"] += 1
    message = queue.Kick(Address(session.handle, session.next_tag), command.bound)
    session.ask(session.used, message, answering.kick)


def _kick_job(session: "Session", command: commands.KickJob) -> None:
    session.given["kick-job"] += 1
    message = tubes.KickJob(Address(session.handle, session.next_tag), command.job_id)
    session.ask(session.job(command.job_id), message, answering.kick_job)


def _pause_tube(session: "Session", command: commands.PauseTube) -> None:
    session.given["pause-tube"] += 1
    message = tubes.PauseTube(Address(session.handle, session.next_tag), command.pause_s)
    session.ask(session.door.queue(command.tube), message, answering.pause_tube)


def _flush_tube(session: "Session", command: commands.FlushTube) -> None:
    session.given["flush-tube"] += 1
    message = tubes.FlushTube(Address(session.handle, session.next_tag))
    session.ask(session.door.queue(command.tube), message, answering.flush_tube)


def _drain(session: "Session", command: commands.Drain | commands.Undrain) -> None:
    session.given[command.name] += 1
    draining = type(command) is commands.Drain

    def set_draining() -> bytes:
        session.door.set_draining(draining)
        return replies.DRAINING if draining else replies.NOT_DRAINING

    session.at_its_turn(set_draining)


def _quit(session: "Session", _: commands.Quit) -> None:
    session.given["quit"] += 1
    session.close()


def _close(session: "Session", _: commands.Close) -> None:
    session.close()


def _refused(session: "Session", refused: commands.Refused) -> None:
    if refused.counted:
        session.given[refused.counted] += 1
    if not refused.put_id_spent:
        session.say(refused.reply)
        return
    if not session.is_producer:
        session.become_producer()

    def spend() -> bytes:
        session.door.spend_job_id()
        return refused.reply

    session.at_its_turn(spend)


ROWS: dict[type, Callable[["Session", Any], None]] = {
    commands.Put: _puts,
    commands.Reserve: _reserves,
    commands.ReserveWithTimeout: _reserves,
    commands.Delete: _deletes,
}
"""Those that are asked together where several stand in a row."""

ASKING: dict[type, Callable[["Session", Any], None]] = {
    **LOOKING,
    commands.Put: _put,
    commands.Use: _use,
    commands.Reserve: _reserve,
    commands.ReserveWithTimeout: _reserve,
    commands.ReserveJob: _reserve_job,
    commands.ReserveBatch: _reserve_batch,
    commands.ReserveMode: _reserve_mode,
    commands.Watch: _watch,
    commands.Ignore: _ignore,
    commands.Delete: _delete,
    commands.DeleteBatch: _delete_batch,
    commands.Release: _release,
    commands.Bury: _bury,
    commands.Touch: _touch,
    commands.Kick: _kick,
    commands.KickJob: _kick_job,
    commands.PauseTube: _pause_tube,
    commands.FlushTube: _flush_tube,
    commands.Drain: _drain,
    commands.Undrain: _drain,
    commands.Quit: _quit,
    commands.Close: _close,
    commands.Refused: _refused,
}
