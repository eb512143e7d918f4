"""One beanstalk connection as the queues see it: it looks for jobs, waits, and holds them.

Theory of operation. A reserve looks at what the watched queues show (`Face`) and claims from the
best. The queue grants, or refuses because it is not so any more; then the worker looks again. Where
nothing is to be had it waits on every watched queue, and looks again when one invites it. All of
them live in one stage, so a claim is answered in the batch in which it is made: between batches a
worker is idle or waits, nothing else.

While a reserve is not answered, whatever comes behind it waits here, in order.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Effect, Reply, Stop, Tell
from etcdq.actors.errors import NoSuchJobError
from etcdq.actors.message import Address
from etcdq.actors.queue.context import QueueContext
from etcdq.actors.queue.messages import Message
from etcdq.actors.queue.tube_messages import (
    Abandon,
    Claim,
    ClaimJob,
    Forget,
    Grant,
    Granted,
    Invite,
    Refer,
    Reserver,
    Wait,
)
from etcdq.actors.worker import messages as w
from etcdq.actors.worker.choice import Choice, Offer, choose
from etcdq.actors.worker.holdings import Holdings


class WorkerStatistics(Message, frozen=True, gc=False):
    """A snapshot: queues watched, jobs held, whether a reserve waits, what waits behind it."""

    watching: int
    held: int
    waits: bool
    parked: int


class _Passed(Message, frozen=True, gc=False):
    """Told to itself behind what it passed on; meanwhile it stands in the place of a reserve."""


_PASSED = _Passed()


class WorkerCore:
    """The worker of one connection.

    Args:
        connection: its number; never 0, and of no other connection.
        address: its own.
        context: what the queues share.
        draw: gives a random number in [0, 1), for the weighted modes.
    """

    __slots__ = (
        "_address",
        "_claiming",
        "_context",
        "_current",
        "_deadline_s",
        "_draw",
        "_grants",
        "_held",
        "_hung_up",
        "_invitations",
        "_left",
        "_mode",
        "_parked",
        "_reserver",
        "_soon_s",
        "_time_up",
        "_waits",
        "_watching",
    )

    def __init__(
        self,
        connection: int,
        address: Address,
        context: QueueContext,
        draw: Callable[[], float],
    ) -> None:
        self._address = address
        self._context = context
        self._draw = draw
        self._reserver = Reserver(connection)
        self._watching: dict[bytes, int] = {}
        self._mode = w.ReserveMode.FIFO
        self._held = Holdings(self._reserver, context.directory)
        self._current: Any = None
        """The reserve that is not answered yet."""
        self._grants: list[Grant] = []
        self._claiming = False
        self._waits = False
        self._invitations: dict[bytes, None] = {}
        """The queues that think it is about to claim."""
        self._time_up = False
        """Whether `TimeUp` is under way."""
        self._deadline_s = NEVER_S
        self._soon_s = NEVER_S
        self._parked: deque[Any] = deque()
        self._hung_up = False
        self._left = False

    # the core protocol ----------------------------------------------------------------------

    def step(self, message: Any, now_s: float) -> list[Effect]:
        """Take one message of its session, or of a queue."""
        effects = self._STEPS[type(message)](self, message, now_s)
        if self._parked and self._current is None:
            self._go_on(effects, now_s)
        return effects

    def settle(self, now_s: float) -> list[Effect]:
        """See whether the time of a reserve is over, or its connection is about to lose a job."""
        if self._left:
            return [Stop()]
        if not self._waits or now_s < self.next_deadline_s():
            return []
        self._time_up = True
        return [Tell(self._address.handle, w.TimeUp())]

    def next_deadline_s(self) -> float:
        """Return when a reserve that waits must be answered."""
        if not self._waits or self._time_up:
            return NEVER_S
        return min(self._deadline_s, self._soon_s)

    def statistics(self) -> WorkerStatistics:
        """Return a snapshot."""
        held = len(self._held)
        return WorkerStatistics(len(self._watching), held, self._waits, len(self._parked))

    # what the session says ------------------------------------------------------------------

    def _watch(self, message: w.WatchTube, now_s: float) -> list[Effect]:
        tube = message.tube
        known = tube in self._watching
        self._watching[tube] = message.weight
        if known:
            return []
        self._context.tubes.add(tube)  # tubes are listed in the order in which they were named
        return [self._tell(tube, Refer(watching=1))]

    def _ignore(self, message: w.IgnoreTube, now_s: float) -> list[Effect]:
        if message.tube not in self._watching:
            return []
        # The last takes the hole, as in beanstalkd: it shows in the order in which tubes go.
        tubes = list(self._watching.items())
        last = tubes.pop()
        self._watching = dict([last if tube[0] == message.tube else tube for tube in tubes])
        return [self._tell(message.tube, Refer(watching=-1))]

    def _set_mode(self, message: w.SetMode, now_s: float) -> list[Effect]:
        self._mode = message.mode
        return []

    def _reserve(self, message: Any, now_s: float) -> list[Effect]:
        if self._current is not None:
            self._parked.append(message)
            return []
        return self._begin(message, now_s)

    def _then(self, message: w.Then, now_s: float) -> list[Effect]:
        self._parked.append(message)
        return []

    def _passed(self, message: "_Passed", now_s: float) -> list[Effect]:
        if self._current is message:
            self._current = None
        return []

    def _hang_up(self, message: w.HangUp, now_s: float) -> list[Effect]:
        self._hung_up = True
        return self._answer(w.TimedOut()) if self._waits else []

    def _leave(self, message: w.Leave, now_s: float) -> list[Effect]:
        effects = self._forget() if self._waits else []
        self._left = True
        self._current = None
        self._parked.clear()
        effects += self._abandon(self._held.by_queue())
        tubes = list(self._watching)
        tubes[1:] = tubes[:0:-1]  # as beanstalkd lets go of them: it shows in its list of tubes
        effects += [self._tell(tube, Refer(watching=-1)) for tube in tubes]
        return [*effects, self._tell(message.using, Refer(using=-1))]

    # reserving ------------------------------------------------------------------------------

    def _begin(self, message: Any, now_s: float) -> list[Effect]:
        self._current = message
        if type(message) is w.ReserveThis:
            self._claiming = True
            job_id = message.job_id
            job = self._context.directory.get(job_id)
            if job is None:
                return self._answer(_no_job(job_id))
            return [self._tell(job.queue, ClaimJob(self._address, self._reserver, job_id))]
        if type(message) is w.Reserve and message.timeout_s is not None:
            self._deadline_s = now_s + message.timeout_s
        return self._look(now_s)

    def _look(self, now_s: float) -> list[Effect]:
        """Claim from the best of the watched queues; answer or wait if none has a job."""
        chosen = self._choose(now_s)
        if chosen is None:
            return self._find_nothing(now_s)
        queue, limit = chosen
        self._claiming = True
        return [self._tell(queue, Claim(self._address, self._reserver, limit, self._count()))]

    def _choose(self, now_s: float) -> Choice | None:
        if len(self._watching) != 1:
            return choose(self._offers(now_s), self._mode, self._draw)
        (tube,) = self._watching  # most clients watch one: there is nothing to compare
        face = self._context.face(tube, now_s)
        if face is None or face.connection not in (0, self._reserver.connection):
            return None
        return tube, None

    def _count(self) -> int:
        """Return how many jobs to claim at once: for all reserves that stand here in a row."""
        if self._mode is not w.ReserveMode.FIFO and len(self._watching) > 1:
            return 1  # each is drawn anew
        current = self._current
        if type(current) is w.ReserveBatch:
            missing: int = current.count - len(self._grants)
            return missing
        count: int = current.count
        for message in self._parked:
            if type(message) is not w.Reserve or count >= limits.RESERVES_AT_ONCE_MAX:
                break
            count += message.count
        return min(count, limits.RESERVES_AT_ONCE_MAX)

    def _offers(self, now_s: float) -> Iterator[Offer]:
        face_of = self._context.face
        connection = self._reserver.connection
        for tube, weight in self._watching.items():
            face = face_of(tube, now_s)
            if face is not None and face.connection in (0, connection):
                yield tube, weight, face

    def _find_nothing(self, now_s: float) -> list[Effect]:
        if type(self._current) is w.ReserveBatch:
            return self._answer(w.Reserved(tuple(self._grants)))
        self._soon_s = self._held.soonest_s() - limits.DEADLINE_SOON_S
        if now_s >= self._soon_s:
            return self._answer(w.DeadlineSoon())
        if self._hung_up or now_s >= self._deadline_s:
            return self._answer(w.TimedOut())
        # Who waits already tells only those that wait for its claim.
        tubes = self._invitations if self._waits else self._watching
        wait = Wait(self._address, self._reserver.connection)
        effects: list[Effect] = [self._tell(tube, wait) for tube in tubes]
        self._waits = True
        self._time_up = False
        self._invitations.clear()
        return effects

    def _granted(self, message: Granted, now_s: float) -> list[Effect]:
        self._claiming = False
        grants = message.grants
        if self._left:
            return self._abandon({message.queue: [one.job_id for one in grants]})
        self._held.add(grants, message.queue)
        current = self._current
        if type(current) is w.ReserveThis:
            value = w.Reserved(grants) if grants else _no_job(current.job_id)
            return self._answer(value)
        if type(current) is w.ReserveBatch:
            self._grants += grants
            if len(self._grants) == current.count:
                return self._answer(w.Reserved(tuple(self._grants)))
            return self._look(now_s)
        if not grants:
            return self._look(now_s)
        effects: list[Effect] = []
        while True:
            answered = grants[: self._current.count]
            grants = grants[len(answered) :]
            if not grants:
                return effects + self._answer(w.Reserved(answered), len(answered))
            effects.append(Reply(self._current.to, w.Reserved(answered)))
            self._current = self._parked.popleft()  # those behind it in the row have theirs, too

    def _invited(self, message: Invite, now_s: float) -> list[Effect]:
        if not self._waits:
            return []  # it has told the queue so
        self._invitations[message.queue] = None
        # A claim that is under way will be answered: then it looks again, or forgets them all.
        return [] if self._claiming else self._look(now_s)

    def _time_is_up(self, message: w.TimeUp, now_s: float) -> list[Effect]:
        return self._look(now_s) if self._waits and not self._claiming else []

    def _answer(self, value: Any, count: int = 1) -> list[Effect]:
        """Answer the reserve, or so many of the row."""
        effects = self._forget() if self._waits else []
        current = self._current
        effects.append(Reply(current.to, value))
        if type(current) is w.Reserve and current.count > count:
            to = Address(current.to.handle, current.to.tag + count)
            self._parked.appendleft(w.Reserve(to, current.timeout_s, current.count - count))
        self._current = None
        self._claiming = False
        self._grants = []
        self._deadline_s = self._soon_s = NEVER_S
        return effects

    def _go_on(self, effects: list[Effect], now_s: float) -> None:
        """Take what waits here, until a reserve is not answered at once.

        A message that is passed on is stepped when we are done: a reserve behind it waits for that,
        until a message to ourselves, told behind it, comes back.
        """
        parked = self._parked
        passes = False
        while parked and self._current is None:
            if type(parked[0]) is w.Then:
                then = parked.popleft()
                effects.append(Tell(then.handle, then.message))
                passes = True
            elif passes:
                break
            else:
                effects += self._begin(parked.popleft(), now_s)
        if passes:
            self._current = _PASSED
            effects.append(Tell(self._address.handle, _PASSED))

    def _forget(self) -> list[Effect]:
        self._waits = self._time_up = False
        self._invitations.clear()
        forget = Forget(self._reserver.connection)
        return [self._tell(tube, forget) for tube in self._watching]

    # what it holds --------------------------------------------------------------------------

    def _abandon(self, by_queue: dict[bytes, list[int]]) -> list[Effect]:
        connection = self._reserver.connection
        return [
            self._tell(queue, Abandon(connection, tuple(job_ids)))
            for queue, job_ids in by_queue.items()
        ]

    def _tell(self, queue: bytes, message: Message) -> Tell:
        return Tell(self._context.queue(queue), message)

    _STEPS: ClassVar[dict[type, Callable[[Any, Any, float], list[Effect]]]] = {
        w.WatchTube: _watch,
        w.IgnoreTube: _ignore,
        w.SetMode: _set_mode,
        w.Reserve: _reserve,
        w.ReserveBatch: _reserve,
        w.ReserveThis: _reserve,
        w.Then: _then,
        _Passed: _passed,
        w.TimeUp: _time_is_up,
        w.HangUp: _hang_up,
        w.Leave: _leave,
        Granted: _granted,
        Invite: _invited,
    }


def _no_job(job_id: int) -> NoSuchJobError:
    return NoSuchJobError(f"there is no job {job_id} to be reserved")
