"""µs of CPU per job through beanstalk sessions, workers and queue, without sockets and tasks.

    python -m bench.tube_micro [--profile NAME]

Each figure is the best of many rounds, because other programs on the machine can only make a round
slower. Prints, asserts nothing but that every job was taken. What a profile shows of a name is its
share, not its µs.
"""

import cProfile
import gc
import pstats
import sys
import time
from collections.abc import Callable

import trio

from bench import tube
from etcdq.actors.shell import log_nowhere
from etcdq.actors.turns import Seat, SeatMailbox
from etcdq.server.beanstalk.session import Session
from etcdq.server.config import embedded_config
from etcdq.server.node import Node

_ROUND_S = 2.0


class Connection:
    """A session and its mailbox."""

    def __init__(self, node: Node) -> None:
        self._mailbox = SeatMailbox(node.beanstalk.readers.turns)
        self._session = Session(node.beanstalk, self._mailbox)
        self._seat = Seat(self._mailbox, self._session.receive, self._hear, lambda _: None)

    def ask(self, commands: bytes) -> bytes:
        """Take commands, as a packet brings them, through all turns; return what is answered."""
        self._session.door.readers.turns.take([(self._seat, commands)])
        return self._session.take_output()

    def hear(self) -> bytes:
        """What is answered because of others."""
        self._hear(trio.current_time())
        return self._session.take_output()

    def _hear(self, _now_s: float) -> None:
        self._session.hear(self._mailbox.take())


def _node() -> Node:
    return Node(embedded_config({}), ["http://nowhere"], log=log_nowhere)


Work = Callable[[], dict[str, tuple[float, int]]]
"""One round: the seconds and jobs of each figure."""


def _pipelined(depth: int) -> Work:
    connection = Connection(_node())
    puts, reserves = tube.put() * depth, tube.RESERVE_NOW * depth
    times = max(1, 200 // depth)

    def work() -> dict[str, tuple[float, int]]:
        jobs = times * depth
        put_s = _timed(lambda: connection.ask(puts), times)
        deletes: list[bytes] = []

        def reserve() -> None:
            deletes.append(tube.deletes(connection.ask(reserves), depth))

        reserve_s = _timed(reserve, times)
        delete_s = _timed(lambda: connection.ask(deletes.pop()), times)
        return {
            f"put, {depth} in a packet": (put_s, jobs),
            f"reserve, {depth} in a packet": (reserve_s, jobs),
            f"delete, {depth} in a packet": (delete_s, jobs),
        }

    return work


def _batch(jobs: int) -> Work:
    connection = Connection(_node())
    puts, reserve = tube.put() * jobs, b"reserve-batch %d\r\n" % jobs

    def work() -> dict[str, tuple[float, int]]:
        connection.ask(puts)
        answers: list[bytes] = []
        reserve_s = _timed(lambda: answers.append(connection.ask(reserve)), 1)
        delete = tube.delete_batch(answers[0], jobs)
        delete_s = _timed(lambda: answers.append(connection.ask(delete)), 1)
        assert answers[1] == b"DELETED_BATCH %d 0\r\n" % jobs, answers[1]
        return {
            f"reserve-batch of {jobs}": (reserve_s, jobs),
            f"delete-batch of {jobs}": (delete_s, jobs),
        }

    return work


def _waiting(workers: int) -> Work:
    """One producer, whose jobs find reserves that wait."""
    node = _node()
    producer = Connection(node)
    waiting = [Connection(node) for _ in range(workers)]
    for connection in waiting:
        connection.ask(tube.RESERVE)
    put = tube.put()

    def round_() -> None:
        for connection in waiting:
            producer.ask(put)
            connection.ask(b"delete %b\r\n" % tube.job_id(connection.hear()))
            connection.ask(tube.RESERVE)

    return lambda: {f"put to one of {workers} that wait": (_timed(round_, 1), workers)}


def _keyed(keys: int, workers: int) -> Work:
    """Workers that take turns on few concurrency keys: most of them wait."""
    node = _node()
    producer = Connection(node)
    crew = [Connection(node) for _ in range(workers)]
    for connection in crew:
        connection.ask(tube.RESERVE)
    packet = b"".join(tube.put(b" con:key-%d" % key) for key in range(keys)) * 20

    def take_all() -> None:
        done = 0
        while done < 20 * keys:
            for connection in crew:
                answer = connection.hear()
                if answer:
                    connection.ask(b"delete %b\r\n" % tube.job_id(answer))
                    connection.ask(tube.RESERVE)
                    done += 1

    def work() -> dict[str, tuple[float, int]]:
        producer.ask(packet)
        return {f"{keys} concurrency keys, {workers} workers": (_timed(take_all, 1), 20 * keys)}

    return work


def _timed(work: Callable[[], object], times: int) -> float:
    began_s = time.process_time()
    for _ in range(times):
        work()
    return time.process_time() - began_s


_WORKS: dict[str, Callable[[], Work]] = {
    "one": lambda: _pipelined(1),
    "pipelined": lambda: _pipelined(100),
    "batch": lambda: _batch(1_000),
    "waiting": lambda: _waiting(25),
    "keyed": lambda: _keyed(5, 16),
}


def _best(work: Work) -> dict[str, float]:
    """Return µs per job of each figure."""
    best: dict[str, float] = {}
    end_s = time.perf_counter() + _ROUND_S
    while time.perf_counter() < end_s:
        for name, (spent_s, jobs) in work().items():
            best[name] = min(best.get(name, 1e9), spent_s / jobs * 1e6)
    return best


async def _measure() -> None:
    # Inside a run of Trio, because the node asks it for the time.
    gc.freeze()
    if "--profile" in sys.argv:
        profile = cProfile.Profile()
        profile.runcall(_best, _WORKS[sys.argv[-1]]())
        pstats.Stats(profile).sort_stats("tottime").print_stats(30)
        return
    for make in _WORKS.values():
        for name, us in _best(make()).items():
            print(f"{name}: {us:.2f} µs per job")


if __name__ == "__main__":
    trio.run(_measure)
