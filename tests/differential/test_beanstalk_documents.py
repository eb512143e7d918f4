"""The documents of a real beanstalkd, and ours of the same state, byte for byte.

A book of what was done (`tests/support/beanstalk_book.py`) gives the values; times are read on both
sides of each command, and a document is read again where a second may have just passed.
"""

import os
import time
from collections.abc import Iterator

import pytest

from etcdq.actors.queue.messages import JobState
from etcdq.server.beanstalk.documents import list_tubes
from etcdq.server.beanstalk.door import DoorSettings, NodeFacts
from etcdq.server.beanstalk.node_statistics import stats
from etcdq.server.beanstalk.statistics import stats_job, stats_tube
from tests.support.beanstalk_book import DEFAULT, Moment
from tests.support.beanstalk_bookkeeper import Bookkeeper
from tests.support.beanstalk_peer import run_beanstalkd

pytestmark = pytest.mark.peer

SETTINGS = DoorSettings(dialect="beanstalkd")
MACHINE = os.uname()
FACTS = NodeFacts(
    version="",
    name="",
    node_id="",
    draining=False,
    pid=0,
    user_s=0.0,
    system_s=0.0,
    resident_bytes_max=0,
    uptime_s=0.0,
    hostname=MACHINE.nodename,
    os=MACHINE.version,
    platform=MACHINE.machine,
)

DIFFERS = {
    b"pid": "each is a process of its own",
    b"version": "each says its own",
    b"rusage-utime": "what the process has used",
    b"rusage-stime": "what the process has used",
    b"uptime": "they did not start together",
    b"id": "drawn by lot",
}
"""Fields whose values are not compared; their names and places are."""

READS_MAX = 100
LOOK_S = 0.1


class Play(Bookkeeper):
    """A bookkeeper who compares."""

    def compare(self) -> None:
        """Compare every document that there is."""
        for job_id in self.book.jobs:
            self._compare_job(job_id)
        for tube in self.book.tubes:
            self._compare_tube(tube)
        self.ask("observer", b"stats-job %d" % (self.book.last_id + 1), b"NOT_FOUND")
        self.ask("observer", b"stats-tube nowhere", b"NOT_FOUND")
        assert self.document(b"list-tubes") == list_tubes(self.book.listed)
        for name, connection in self.book.connections.items():
            if not connection.waits:
                watched = self.document(b"list-tubes-watched", name)
                assert watched == list_tubes(connection.watches)
        theirs = self.document(b"stats")
        ours = stats(self.book.totals(), self.book.counted(), FACTS, SETTINGS)
        assert _comparable(ours) == _comparable(theirs)

    def _compare_job(self, job_id: int) -> None:
        line = b"stats-job %d" % job_id
        for theirs, now in self._reads(line):
            early = stats_job(self.book.job(job_id, now, late=False), "beanstalkd")
            if early == stats_job(self.book.job(job_id, now, late=True), "beanstalkd"):
                assert early == theirs
                return

    def _compare_tube(self, tube: bytes) -> None:
        for theirs, now in self._reads(b"stats-tube " + tube):
            early = stats_tube(self.book.tube(tube, now, late=False), "beanstalkd")
            if early == stats_tube(self.book.tube(tube, now, late=True), "beanstalkd"):
                assert early == theirs
                return

    def _reads(self, line: bytes) -> Iterator[tuple[bytes, Moment]]:
        for _ in range(READS_MAX):
            before_s = time.monotonic()
            theirs = self.document(line)
            yield theirs, (before_s, time.monotonic())
        pytest.fail("whether a second has passed could not be told")


def _comparable(document: bytes) -> list[bytes]:
    """Its lines, without the values that differ."""
    lines = [line.partition(b": ") for line in document.split(b"\n")]
    return [name if name in DIFFERS else name + colon + value for name, colon, value in lines]


@pytest.fixture
def play() -> Iterator[Play]:
    """A fresh server with an observer."""
    with run_beanstalkd() as address:
        one = Play(address)
        yield one
        one.leave()


def test_nothing_has_happened(play: Play) -> None:
    """A new server shows its default tube, and that it was asked."""
    play.compare()


def test_ready_urgent_delayed(play: Play) -> None:
    """Puts of every kind: urgent below 1024, delayed, a TTR of 0 and the largest."""
    play.connect("a")
    for priority, delay_s, ttr_s in [
        (0, 0, 60), (1023, 0, 1), (1024, 0, 0), (4294967295, 0, 4294967295), (5, 100, 7),
        (5, 4294967295, 7),
    ]:  # fmt: skip
        play.put("a", priority, delay_s, ttr_s)
        play.compare()


def test_reserved_and_back(play: Play) -> None:
    """A job reserved, touched, released, released with a delay, kicked, buried, kicked, deleted."""
    book = play.book
    play.connect("a", "b")
    first, second = play.put("a", 10), play.put("a", 3000)
    assert play.reserve("b") == first
    play.compare()
    book.touch(first, play.ask("b", b"touch %d" % first, b"TOUCHED"))
    play.compare()
    book.release(first, 4000, 0, play.ask("b", b"release %d 4000 0" % first, b"RELEASED"))
    play.compare()
    assert play.reserve("b") == second
    book.release(second, 1, 500, play.ask("b", b"release %d 1 500" % second, b"RELEASED"))
    play.compare()
    play.ask("b", b"kick 10", b"KICKED 1")
    book.kick(second)
    play.compare()
    assert play.reserve("b") == second
    play.ask("b", b"bury %d 7" % second, b"BURIED")
    book.bury(second, 7)
    play.compare()
    play.ask("a", b"kick-job %d" % second, b"KICKED")
    book.kick(second)
    play.compare()
    assert play.reserve("b") == second
    play.ask("b", b"delete %d" % second, b"DELETED")
    book.delete(second)
    play.ask("a", b"delete %d" % first, b"DELETED")
    book.delete(first)
    play.compare()


def test_reserved_by_id(play: Play) -> None:
    """A job is reserved by its id out of each state; that counts as no `reserve`."""
    book = play.book
    play.connect("a")
    ready, delayed, buried = play.put("a"), play.put("a", 0, 1000), play.put("a")
    book.reserve("a", buried, play.ask("a", b"reserve-job %d" % buried, b"RESERVED 3 1\r\nx"))
    play.ask("a", b"bury %d 0" % buried, b"BURIED")
    book.bury(buried, 0)
    play.compare()
    for job_id in (ready, delayed, buried):
        line, reply = b"reserve-job %d" % job_id, b"RESERVED %d 1\r\nx" % job_id
        book.reserve("a", job_id, play.ask("a", line, reply))
        play.compare()


def test_tubes_used_and_watched(play: Play) -> None:
    """Tubes live while they are used, watched or full, and are listed in the server's order."""
    play.connect("a", "b")
    names = [b"x", b"a/b;c.d$e(f)+_-", b"7", b"n" * 200]
    for tube in names:
        play.use("a", tube)
        play.put("a")
        play.watch("b", tube)
        play.compare()
    play.ignore("b", DEFAULT)
    play.compare()
    play.ignore("b", names[1])
    play.use("a", b"empty")
    play.compare()
    play.use("a", DEFAULT)
    play.compare()
    play.ask("a", b"ignore default", b"NOT_IGNORED")
    while play.book.jobs:
        job_id = min(play.book.jobs)
        play.ask("a", b"delete %d" % job_id, b"DELETED")
        play.book.delete(job_id)
        play.compare()
    play.close("b")
    play.compare()


def test_waited_on(play: Play) -> None:
    """Who waits is counted in each tube it watches, until it is served or leaves."""
    play.connect("a", "b", "c")
    play.watch("b", b"t")
    play.wait("b")
    play.compare()
    play.wait("c")
    play.compare()
    play.use("a", b"t")
    before_s = time.monotonic()
    job_id = play.put("a")
    play.served("b", job_id, before_s)
    play.compare()
    play.ask("b", b"delete %d" % job_id, b"DELETED")
    play.book.delete(job_id)
    play.close("c")
    play.compare()


def test_paused(play: Play) -> None:
    """A pause is shown, one over a pause replaces it, and one of 0 s ends it."""
    play.connect("a")
    play.put("a")
    for pause_s in (100, 86400, 4294967295):
        line = b"pause-tube default %d" % pause_s
        play.book.pause(DEFAULT, pause_s, play.ask("a", line, b"PAUSED"))
        play.compare()
    play.ask("a", b"reserve-with-timeout 0", b"TIMED_OUT")
    play.book.connections["a"].worked = True
    play.compare()
    play.book.pause(DEFAULT, 0, play.ask("a", b"pause-tube default 0", b"PAUSED"))
    assert play.reserve("a") == 1
    play.compare()
    play.ask("a", b"pause-tube nowhere 5", b"NOT_FOUND")
    play.compare()


def test_a_connection_ends(play: Play) -> None:
    """What it held is ready, and is not counted as released or timed out."""
    play.connect("a", "b")
    for priority in (5, 2000):
        play.put("a", priority)
        play.reserve("b")
    play.compare()
    play.close("b")
    play.compare()
    play.close("a")
    play.compare()


def test_time_passes(play: Play) -> None:
    """A delay and a reservation of one second end: who waits is served, and ages are shown."""
    play.connect("a", "b", "c")
    delayed = play.put("a", 0, 1, 1)
    before_s = time.monotonic()
    play.wait("b")
    play.compare()
    play.book.become_ready(delayed)
    play.served("b", delayed, before_s)
    play.compare()
    before_s = time.monotonic()
    play.wait("c")
    while not play.has_answer("c", LOOK_S):
        # Now and then beanstalkd overlooks the end of a reservation until its holder speaks.
        play.ask("b", b"list-tube-used", b"USING default")
    play.book.time_out(delayed)
    play.served("c", delayed, before_s)
    play.compare()
    assert play.book.jobs[delayed].state is JobState.RESERVED


def test_what_is_refused(play: Play) -> None:
    """A command whose numbers and names are right counts, whatever it is answered."""
    play.connect("a")
    for line in (b"peek 9", b"delete 9", b"release 9 0 0", b"bury 9 0", b"touch 9", b"kick-job 9"):
        play.ask("a", line, b"NOT_FOUND")
    for line in (b"peek-ready", b"peek-delayed", b"peek-buried", b"reserve-job 9"):
        play.ask("a", line, b"NOT_FOUND")
    play.ask("a", b"kick 5", b"KICKED 0")
    play.ask("a", b"put 0 0 0 65536", b"JOB_TOO_BIG", b"x" * 65536)
    play.ask("a", b"ignore nowhere", b"WATCHING 1")
    play.compare()


def test_a_put_that_went_wrong(play: Play) -> None:
    """A body with a wrong end makes a producer of its connection, and uses an id up."""
    play.connect("a")
    play.ask("a", b"put 0 0 0 1", b"EXPECTED_CRLF", b"xyz")
    assert play.answer("a") == b"UNKNOWN_COMMAND\r\n"
    play.book.connections["a"].produced = True
    play.book.last_id += 1
    play.compare()
    assert play.put("a") == 2
    play.compare()
