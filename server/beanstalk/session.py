"""One connection's session: commands become messages to actors, their answers become lines.

A core: no I/O, no clock. Its shell (`shell.py`) feeds it bytes and replies, and writes what it has
to say. Posting to a handle is not I/O: it appends to a mailbox.

What is answered, and in which order:

- Every command has a place in a line of answers (`_pending`), and a number (tag) that its reply
  comes back with. Only the head of the line leaves; what is answered before its turn waits there.
- While no reserve of this connection is unanswered, a command goes straight to its queue or job.
  While one is, what stands behind it goes to the worker as `Then`, so it happens after the
  reserve. `_last_by_worker` is the last tag that went that way.
- Some commands need a moment at which all before them is done, and nothing behind them: `stats`
  and the like look at the whole node, `use` and `watch` change what later ones mean. They hold what
  stands behind them (`_held`) until their turn.
- No more is made of the answers than the socket takes: a client that asks for much and reads
  nothing costs one backlog.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, repeat
from typing import Any

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Reply
from etcdq.actors.message import Address, Handle
from etcdq.actors.queue.tube_messages import Refer
from etcdq.actors.worker.messages import HangUp, Leave, Reserved, Then, WatchTube
from etcdq.server.beanstalk import answering
from etcdq.server.beanstalk.answering import Answer
from etcdq.server.beanstalk.asking import ASKING, ROWS
from etcdq.server.beanstalk.door import BeanstalkDoor
from etcdq.server.beanstalk.parser import Parser

DEFAULT_TUBE = b"default"

_NONE: Iterator[Any] = iter(())

_OUTPUT_BYTES_MAX = limits.BACKLOG_BYTES_MAX


class Session:
    """The session of one connection.

    Args:
        handle: its own mailbox: where actors reply to.

    Attributes:
        aborted: why the connection must be closed at once; "" while it need not.
        reading: whether the shell reads on; the client's time does not count while it does not.
    """

    def __init__(self, door: BeanstalkDoor, handle: Handle) -> None:
        self.door = door
        self.handle = handle
        self.aborted = ""
        self.reading = True
        self.connection = door.new_connection()
        self.worker = door.worker(self.connection)
        self.job = door.job
        self.given = door.counts.given
        self.answer_stats_job = answering.stats_job_in(door.settings.dialect)
        self.answer_stats_tube = answering.stats_tube_in(door.settings.dialect)
        self.using = DEFAULT_TUBE
        self.used = door.queue(DEFAULT_TUBE)
        self.watched = [DEFAULT_TUBE]
        self.next_tag = 0
        """The tag of the next command that is answered."""
        self._first_tag = 0
        """The tag of the head of the line."""
        self._last_by_worker = -1
        self._pending: deque[Answer | bytes | tuple[Answer, Any]] = deque()
        """Bytes and (function, value) are answered, and wait for their turn."""
        self._early = 0
        """How many of them there are."""
        self._commands: Iterator[Any] = iter(())
        self._held: list[Any] | None = None
        """What stands behind a command whose turn has not come; None if there is no such one."""
        self._unanswered_bytes = 0
        self._output: list[bytes] = []
        self._output_bytes = 0
        self._parser = Parser(door.settings.job_bytes_max, door.settings.dialect)
        self._progress_bytes = 0
        self._progress_deadline_s = NEVER_S
        self._closing = self._hung_up = self._ended = False
        self.is_producer = self.is_worker = False
        door.counts.connections += 1
        door.counts.connections_total += 1
        self.used.post(Refer(using=1))
        self.worker.post(WatchTube(DEFAULT_TUBE))

    # what the shell calls ---------------------------------------------------------------

    def receive(self, data: bytes, now_s: float) -> None:
        """Take bytes of the peer; once it is closing, drop them."""
        if self._closing:
            return
        commands = self._parser.receive(data)
        if self._parser.begun or self._progress_deadline_s != NEVER_S:
            self._look_at_progress(bool(commands), len(data), now_s)
        self._unanswered_bytes = self._unanswered_bytes + len(data) if self._pending else 0
        if self._held is not None:
            self._held += commands
        elif len(commands) == 1:  # nothing stands behind it
            self._commands = _NONE
            ASKING[type(commands[0])](self, commands[0])
        else:
            self._take(iter(commands))

    def hear(self, replies: Iterable[Reply]) -> None:
        """Take answers of actors."""
        pending, output = self._pending, self._output
        for reply in replies:
            tag: int = reply.to.tag
            if tag != self._first_tag or self._output_bytes > _OUTPUT_BYTES_MAX:
                self._keep(tag - self._first_tag, reply.value)
                continue
            answer: Any = pending[0]
            if answer is answering.reserve and _is_row(reply.value):
                self._hear_row(reply.value)
            else:
                data = answer(reply.value)
                if data is None:
                    continue
                pending.popleft()
                self._first_tag = tag + 1
                output.append(data)
                self._output_bytes += len(data)
            if self._early:
                self._advance()
            if self._held is not None:
                self._resume()

    @property
    def has_output(self) -> bool:
        """Whether `take_output` has something."""
        return bool(self._output)

    def take_output(self) -> bytes:
        """Return what is to be written next, about `BACKLOG_BYTES_MAX` or one answer at most."""
        data = b"".join(self._output)
        self._output.clear()
        self._output_bytes = 0
        if self._early:
            self._advance()
            self._resume()
        return data

    def hang_up(self) -> None:
        """The peer sends nothing more: what it asked is answered, no reserve waits any longer."""
        self._closing = True
        if not self._hung_up:
            self._hung_up = True
            self.worker.post(HangUp())

    def drain(self) -> None:
        """Take no new commands; a reserve that waits ends with the connection."""
        pending = self._pending
        if self._held is None and pending and pending[-1] is answering.reserve:
            pending[-1] = answering.last_reserve
        self.hang_up()

    def end(self) -> None:
        """The connection is over; may be told more than once."""
        if self._ended:
            return
        self._ended = True
        counts = self.door.counts
        counts.connections -= 1
        counts.producers -= self.is_producer
        counts.workers -= self.is_worker
        self.worker.post(Leave(self.using))

    @property
    def finished(self) -> bool:
        """Whether the connection should be closed once its output is written."""
        return self._closing and not self._pending

    @property
    def wants_input(self) -> bool:
        """Whether the shell should read on: no more is taken than can be answered soon."""
        return self._unanswered_bytes <= limits.BEANSTALK_PARKED_BYTES_MAX or not self._pending

    def next_deadline_s(self) -> float:
        """Return when `settle` must be called at the latest."""
        return self._progress_deadline_s if self.reading else NEVER_S

    def settle(self, now_s: float) -> None:
        """Do what is due: a client that does not finish what it began is closed."""
        if self.next_deadline_s() <= now_s:
            self.aborted = "it began a line or a body and did not go on"

    def read_on(self, now_s: float) -> None:
        """Hear that the shell reads again: the client's time begins anew."""
        self.reading = True
        self._restart_progress(now_s)

    # what the commands need -------------------------------------------------------------

    def ask(self, handle: Handle, message: Any, answer: Answer) -> None:
        """Post a message whose reply comes back with `next_tag`, behind every reserve."""
        if self._last_by_worker >= self._first_tag:
            self._last_by_worker = self.next_tag
            self.worker.post(Then(handle, message))
        else:
            handle.post(message)
        self.next_tag += 1
        self._pending.append(answer)

    def ask_worker(self, message: Any, answer: Answer, count: int = 1) -> None:
        """Post a message to the worker, whose replies come back from `next_tag` on."""
        self.next_tag += count
        self._last_by_worker = self.next_tag - 1
        self.worker.post(message)
        self._pending.extend(repeat(answer, count))

    def ask_many(self, messages: list[tuple[Handle, Any]], answer: Answer) -> None:
        """Post messages that are answered together."""
        if self._last_by_worker >= self._first_tag:
            self._last_by_worker = self.next_tag
            for handle, message in messages:
                self.worker.post(Then(handle, message))
        else:
            for handle, message in messages:
                handle.post(message)
        self.next_tag += 1
        self._pending.append(answer)

    def say(self, data: bytes) -> None:
        """Answer a command by ourselves, in its turn."""
        self.next_tag += 1
        if self._pending:
            self._pending.append(data)
            self._early += 1
        else:
            self._first_tag = self.next_tag
            self._output.append(data)
            self._output_bytes += len(data)

    def at_its_turn(self, act: Callable[[], bytes]) -> None:
        """Answer with what `act` returns, when all before is done and nothing behind is begun."""
        # The worker sends it back to us: when it comes, all that was posted before is done.
        mark = Reply(Address(self.handle, self.next_tag), None)
        self.ask_worker(Then(self.handle, mark), lambda _: act())
        self._held = list(self._commands)

    def hold_if_behind(self, command: Any) -> bool:
        """Hold `command`, and all behind it, if a reserve before it is unanswered."""
        if self._last_by_worker < self._first_tag:
            return False
        self._held = [command, *self._commands]
        return True

    def use(self, tube: bytes) -> None:
        """Use `tube` from now on; it is there before the other one is let go."""
        if tube != self.using:
            handle = self.door.queue(tube)
            handle.post(Refer(using=1))
            self.used.post(Refer(using=-1))
            self.using, self.used = tube, handle

    def become_producer(self) -> None:
        """Count the connection among those that put jobs; once."""
        self.is_producer = True
        self.door.counts.producers += 1

    def become_worker(self) -> None:
        """Count the connection among those that ask for jobs; once."""
        self.is_worker = True
        self.door.counts.workers += 1

    def close(self) -> None:
        """Close the connection when everything before is answered."""
        self._closing = True

    # inside -----------------------------------------------------------------------------

    def _take(self, commands: Iterator[Any]) -> None:
        # Who holds what stands behind it drains the iterator, and so ends this loop.
        self._commands = commands
        for kind, row in groupby(commands, type):
            ask_row = ROWS.get(kind)
            if ask_row is None:
                ask = ASKING[kind]
                for command in row:
                    ask(self, command)
                continue
            several = list(row)
            if len(several) == 1:
                ASKING[kind](self, several[0])
            else:
                ask_row(self, several)

    def _resume(self) -> None:
        if self._held is not None and self._last_by_worker < self._first_tag:
            held, self._held = self._held, None
            self._take(iter(held))

    def _keep(self, place: int, value: Any) -> None:
        """Remember an answer whose turn has not come, or for which there is no room."""
        answer: Any = self._pending[place]
        if answer is answering.reserve and _is_row(value):
            self._keep_row(place, value)
            return
        if type(answer) is answering.DeletedBatch:
            data = answer(value)
            if data is None:
                return
            self._pending[place] = data
        else:
            self._pending[place] = (answer, value)
        self._early += 1

    def _hear_row(self, value: Reserved) -> None:
        """Say several jobs at once, unless they are large: then one by one, as there is room."""
        grants = value.grants
        if sum([len(grant.body) for grant in grants]) > limits.WRITE_PIECE_BYTES:
            self._keep_row(0, value)
            return
        for _ in grants:
            self._pending.popleft()
        self._first_tag += len(grants)
        data = answering.reserve_row(grants)
        self._output.append(data)
        self._output_bytes += len(data)

    def _keep_row(self, place: int, value: Reserved) -> None:
        for here, grant in enumerate(value.grants, place):
            self._pending[here] = (answering.reserve, Reserved((grant,)))
        self._early += len(value.grants)

    def _advance(self) -> None:
        """Take from the head of the line what is answered, as long as there is room."""
        pending = self._pending
        while self._early and self._output_bytes <= _OUTPUT_BYTES_MAX:
            head = pending[0]
            if type(head) is tuple:
                answer, value = head
                data = answer(value)
                assert data is not None
            elif type(head) is bytes:
                data = head
            else:
                return
            pending.popleft()
            self._early -= 1
            self._first_tag += 1
            self._output.append(data)
            self._output_bytes += len(data)

    def _look_at_progress(self, completed: bool, size: int, now_s: float) -> None:
        """Let the client's time begin anew whenever it has got on with what it began."""
        if not self._parser.begun:
            self._progress_deadline_s = NEVER_S
            return
        self._progress_bytes += size
        fresh = completed or self._progress_deadline_s == NEVER_S
        if fresh or self._progress_bytes >= limits.BEANSTALK_PROGRESS_BYTES_MIN:
            self._restart_progress(now_s)

    def _restart_progress(self, now_s: float) -> None:
        self._progress_bytes = 0
        if self._parser.begun:
            self._progress_deadline_s = now_s + limits.BEANSTALK_PROGRESS_TIMEOUT_S


def _is_row(value: Any) -> bool:
    """Return whether a reply to a reserve answers those behind it as well."""
    return type(value) is Reserved and len(value.grants) > 1
