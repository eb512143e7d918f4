"""What must be true of a beanstalkd that was asked this and that: a book of jobs, tubes, counters.

The book knows what each accepted command changes and nothing of a wire. Times are moments: when
something happened is known only as not before and not after. Out of it come the values that our
documents are made of.
"""

from dataclasses import dataclass, field

from etcdq.actors.queue.messages import JobState, JobView, Tags, TimingStatistics, TubeStatistics
from etcdq.actors.queue.tube_messages import JobStatistics
from etcdq.server.beanstalk.counts import CommandCounts
from etcdq.server.beanstalk.door import NodeTotals

URGENT_BELOW = 1024
DEFAULT = b"default"

Moment = tuple[float, float]
"""Not before, not after; seconds of one clock."""


@dataclass
class Job:
    """One job and its life. `until`: its reservation or its delay ends there."""

    job_id: int
    tube: bytes
    priority: int
    delay_s: int
    ttr_s: int
    put: Moment
    state: JobState = JobState.READY
    until: Moment | None = None
    holder: str = ""
    reserves: int = 0
    timeouts: int = 0
    releases: int = 0
    buries: int = 0
    kicks: int = 0


@dataclass
class Tube:
    """What a tube counts."""

    waiting: int = 0
    pause_s: int = 0
    paused_until: Moment = (0.0, 0.0)
    jobs_total: int = 0
    deletes_total: int = 0
    pauses_total: int = 0


@dataclass
class Connection:
    """One connection: the tube it uses, those it watches, and what it has done."""

    uses: bytes = DEFAULT
    watches: list[bytes] = field(default_factory=lambda: [DEFAULT])
    waits: bool = False
    produced: bool = False
    worked: bool = False


def later(moment: Moment, time_s: float) -> Moment:
    """A moment so much later."""
    return moment[0] + time_s, moment[1] + time_s


def elapsed_s(since: Moment, now: Moment, late: bool) -> float:
    """The time between two moments: the longest it can be, or the shortest."""
    return now[1] - since[0] if late else now[0] - since[1]


class Book:
    """Everything that a beanstalkd should know, in the order in which it would list it."""

    def __init__(self) -> None:
        self.jobs: dict[int, Job] = {}
        self.tubes: dict[bytes, Tube] = {DEFAULT: Tube()}
        self.listed = [DEFAULT]
        """Living tubes in beanstalkd's order: the last one takes the place of one that ends."""
        self.connections: dict[str, Connection] = {}
        self.counts = CommandCounts()
        self.jobs_total = 0
        self.timeouts_total = 0
        self.last_id = 0

    # connections and tubes ------------------------------------------------------------------

    def connect(self, name: str) -> None:
        """A connection is there."""
        self.connections[name] = Connection()
        self.counts.connections_total += 1

    def close(self, name: str) -> None:
        """A connection is over: what it held is ready."""
        for job in self.jobs.values():
            if job.holder == name:
                self._move(job, JobState.READY)
        if self.connections[name].waits:
            self.stop_waiting(name)
        del self.connections[name]
        self._reap()

    def use(self, name: str, tube: bytes) -> None:
        """A connection uses another tube."""
        self._make(tube)
        self.connections[name].uses = tube
        self._reap()

    def watch(self, name: str, tube: bytes) -> int:
        """A connection watches a tube; return how many."""
        self._make(tube)
        watches = self.connections[name].watches
        if tube not in watches:
            watches.append(tube)
        return len(watches)

    def ignore(self, name: str, tube: bytes) -> int:
        """A connection watches a tube no longer; return how many."""
        watches = self.connections[name].watches
        if tube in watches:
            _take_out(watches, tube)
        self._reap()
        return len(watches)

    def pause(self, tube: bytes, pause_s: int, now: Moment) -> None:
        """A tube is paused, or, for 0 s, no longer."""
        it = self.tubes[tube]
        it.pause_s, it.paused_until = pause_s, later(now, pause_s)
        it.pauses_total += 1

    def wait(self, name: str) -> None:
        """A reserve of a connection waits."""
        connection = self.connections[name]
        connection.waits = connection.worked = True
        for tube in connection.watches:
            self.tubes[tube].waiting += 1

    def stop_waiting(self, name: str) -> None:
        """It waits no longer, whatever it was answered."""
        connection = self.connections[name]
        connection.waits = False
        for tube in connection.watches:
            self.tubes[tube].waiting -= 1

    def _make(self, tube: bytes) -> None:
        if tube not in self.tubes:
            self.tubes[tube] = Tube()
            self.listed.append(tube)

    def _reap(self) -> None:
        """Forget each tube that nobody uses or watches, and that has no job."""
        alive = {DEFAULT, *(job.tube for job in self.jobs.values())}
        for connection in self.connections.values():
            alive |= {connection.uses, *connection.watches}
        for tube in [tube for tube in self.tubes if tube not in alive]:
            del self.tubes[tube]
            _take_out(self.listed, tube)

    # jobs -----------------------------------------------------------------------------------

    def put(self, name: str, priority: int, delay_s: int, ttr_s: int, now: Moment) -> int:
        """A job is put; return its id."""
        connection = self.connections[name]
        connection.produced = True
        self.last_id += 1
        job = Job(self.last_id, connection.uses, priority, delay_s, max(1, ttr_s), now)
        if delay_s:
            self._move(job, JobState.DELAYED, until=later(now, delay_s))
        self.jobs[job.job_id] = job
        self.tubes[job.tube].jobs_total += 1
        self.jobs_total += 1
        return job.job_id

    def head(self, name: str) -> int:
        """The job that a connection would be given: the most urgent, and the oldest of those."""
        watches = [tube for tube in self.connections[name].watches if not self.tubes[tube].pause_s]
        ready = [
            (job.priority, job.job_id)
            for job in self.jobs.values()
            if job.state is JobState.READY and job.tube in watches
        ]
        return min(ready)[1]

    def reserve(self, name: str, job_id: int, now: Moment) -> None:
        """A connection is given a job."""
        self.connections[name].worked = True
        job = self.jobs[job_id]
        self._move(job, JobState.RESERVED, holder=name, until=later(now, job.ttr_s))
        job.reserves += 1

    def touch(self, job_id: int, now: Moment) -> None:
        """The time of a reservation begins anew."""
        job = self.jobs[job_id]
        job.until = later(now, job.ttr_s)

    def time_out(self, job_id: int) -> None:
        """The time of a reservation is over."""
        self._move(self.jobs[job_id], JobState.READY)
        self.jobs[job_id].timeouts += 1
        self.timeouts_total += 1

    def become_ready(self, job_id: int) -> None:
        """A delay is over."""
        self._move(self.jobs[job_id], JobState.READY)

    def release(self, job_id: int, priority: int, delay_s: int, now: Moment) -> None:
        """A reserved job goes back."""
        job = self.jobs[job_id]
        job.priority, job.delay_s = priority, delay_s
        job.releases += 1
        self._move(job, JobState.READY)
        if delay_s:
            self._move(job, JobState.DELAYED, until=later(now, delay_s))

    def bury(self, job_id: int, priority: int) -> None:
        """A reserved job is buried."""
        job = self.jobs[job_id]
        job.priority = priority
        job.buries += 1
        self._move(job, JobState.BURIED)

    def kick(self, job_id: int) -> None:
        """A buried or delayed job is ready."""
        self.jobs[job_id].kicks += 1
        self._move(self.jobs[job_id], JobState.READY)

    def delete(self, job_id: int) -> None:
        """A job is gone."""
        self.tubes[self.jobs.pop(job_id).tube].deletes_total += 1
        self._reap()

    def _move(
        self, job: Job, state: JobState, holder: str = "", until: Moment | None = None
    ) -> None:
        job.state, job.holder, job.until = state, holder, until

    # values ---------------------------------------------------------------------------------

    def job(self, job_id: int, now: Moment, late: bool) -> JobStatistics:
        """A job as it is shown, as late or as early as can be."""
        job = self.jobs[job_id]
        view = JobView(
            job_id=job_id,
            index=job_id,
            key=b"",
            tail=b"",
            body=b"",
            priority=job.priority,
            state=job.state,
            delay_s=job.delay_s,
            ttr_s=job.ttr_s,
            age_s=elapsed_s(job.put, now, late),
        )
        left_s = -elapsed_s(job.until, now, late) if job.until is not None else 0.0
        return JobStatistics(
            job.tube, view, left_s, 0.0, job.reserves, job.timeouts, job.releases, job.buries,
            job.kicks, Tags(),
        )  # fmt: skip

    def tube(self, name: bytes, now: Moment, late: bool) -> TubeStatistics:
        """A tube as it is shown, as late or as early as can be."""
        tube = self.tubes[name]
        states = self._states(name)
        everybody = self.connections.values()
        return TubeStatistics(
            name=name,
            **states,
            using=sum(connection.uses == name for connection in everybody),
            watching=sum(name in connection.watches for connection in everybody),
            waiting=tube.waiting,
            pause_s=tube.pause_s,
            pause_left_s=-elapsed_s(tube.paused_until, now, late) if tube.pause_s else 0.0,
            jobs_total=tube.jobs_total,
            deletes_total=tube.deletes_total,
            pauses_total=tube.pauses_total,
            reserves_total=0,
            timeouts_total=0,
            buries_total=0,
            timing=TimingStatistics(),
        )

    def totals(self) -> NodeTotals:
        """All tubes together; what only tuber shows is left out."""
        return NodeTotals(
            **self._states(None),
            waiting=sum(connection.waits for connection in self.connections.values()),
            timeouts_total=self.timeouts_total,
            jobs_total=self.jobs_total,
            tubes=len(self.tubes),
            concurrency_keys=0,
            jobs_bytes=0,
            jobs_bytes_max=0,
            drift_events=0,
        )

    def counted(self) -> CommandCounts:
        """The commands given, and the connections by what they did."""
        everybody = self.connections.values()
        self.counts.connections = len(everybody)
        self.counts.producers = sum(connection.produced for connection in everybody)
        self.counts.workers = sum(connection.worked for connection in everybody)
        return self.counts

    def _states(self, tube: bytes | None) -> dict[str, int]:
        jobs = [job for job in self.jobs.values() if tube is None or job.tube == tube]
        shown = {state.value: sum(job.state is state for job in jobs) for state in JobState}
        urgent = sum(job.state is JobState.READY and job.priority < URGENT_BELOW for job in jobs)
        return {"urgent": urgent, **shown}


def _take_out(names: list[bytes], name: bytes) -> None:
    """Take a name out as beanstalkd does: the last one takes its place."""
    names[names.index(name)] = names[-1]
    names.pop()
