"""Lean loads of one beanstalk connection: puts, and reserves with deletes, in turns."""

import time
from collections.abc import Callable

from bench import tube
from bench.tube import AnswerError, Tube

_WARM_UP_S = 0.2
_TURN_JOBS = {1: 200, 100: 5_000, 1_000: 10_000}
"""How many are put, and then taken, before the next turn: so the tube never gets long, and no
figure is that of a backlog."""


class _Watch:
    """Stops the time of one kind of work, and the generator's CPU time in it."""

    def __init__(self) -> None:
        self.jobs = 0
        self.elapsed_s = 0.0
        self._cpu_s = 0.0

    def stop(self, work: Callable[[int], None], jobs: int) -> None:
        """Do the work on so many jobs."""
        began_s, cpu_began_s = time.perf_counter(), time.process_time()
        work(jobs)
        self._cpu_s += time.process_time() - cpu_began_s
        self.elapsed_s += time.perf_counter() - began_s
        self.jobs += jobs

    def figures(self, name: str) -> dict[str, float]:
        """Jobs per second, and the generator's share."""
        return {
            f"{name}_per_s": self.jobs / self.elapsed_s,
            f"{name}_generator_cpu": self._cpu_s / self.elapsed_s,
        }


class _Loads:
    """What is done on one connection, so many jobs in one write."""

    def __init__(self, connection: Tube, depth: int) -> None:
        self._ask = connection.ask
        self._depth = depth
        self._puts = tube.put() * depth
        self._reserves = tube.RESERVE_NOW * depth
        self._deleted = tube.DELETED * depth

    def put(self, jobs: int) -> None:
        """Put so many, a multiple of the depth."""
        ask, depth, puts = self._ask, self._depth, self._puts
        for _ in range(jobs // depth):
            answer = ask(puts, depth)
            if answer.count(tube.INSERTED) != depth:
                raise AnswerError(f"{depth} puts were answered {answer[:200]!r}")

    def take(self, jobs: int) -> None:
        """Reserve and delete so many; all reserves of one write are answered before the deletes."""
        ask, depth, reserves, deleted = self._ask, self._depth, self._reserves, self._deleted
        for _ in range(jobs // depth):
            if ask(tube.deletes(ask(reserves, 2 * depth), depth), depth) != deleted:
                raise AnswerError("a job that was reserved could not be deleted")

    def take_batches(self, jobs: int) -> None:
        """Reserve and delete so many by tuber's batch commands."""
        ask, depth = self._ask, self._depth
        reserve = b"reserve-batch %d\r\n" % depth
        deleted = b"DELETED_BATCH %d 0\r\n" % depth
        for _ in range(jobs // depth):
            if ask(tube.delete_batch(ask(reserve, 1 + 2 * depth), depth), 1) != deleted:
                raise AnswerError("a job that was reserved could not be deleted")


def rates(
    port: int, *, name: bytes, depth: int, seconds: float, batches: bool = False
) -> dict[str, float]:
    """Put and take in turns, for about so many seconds each.

    Args:
        name: of a tube that nobody else uses; it is left empty.
        depth: jobs in one write; each write is answered before the next one.
        batches: take by `reserve-batch` and `delete-batch` instead.

    Returns:
        `put_per_s` and `take_per_s` (reserve and delete), and `put_generator_cpu` and
        `take_generator_cpu`.
    """
    connection = Tube(port, name)
    figures = _rates(connection, depth, seconds, batches=batches)
    connection.close()
    return figures


def _rates(
    connection: Tube, depth: int, seconds: float, *, batches: bool = False
) -> dict[str, float]:
    loads = _Loads(connection, depth)
    take = loads.take_batches if batches else loads.take
    jobs = _TURN_JOBS[depth]
    warm_until = time.perf_counter() + _WARM_UP_S
    while time.perf_counter() < warm_until:
        loads.put(jobs)
        take(jobs)
    puts, takes = _Watch(), _Watch()
    while puts.elapsed_s + takes.elapsed_s < 2 * seconds:
        puts.stop(loads.put, jobs)
        takes.stop(take, jobs)
    return {**puts.figures("put"), **takes.figures("take")}


def backlog(port: int, *, name: bytes, jobs: int, seconds: float) -> dict[str, float]:
    """The rates at 100 in one write on an empty tube, and again with so many jobs in it.

    Returns:
        The figures of `rates`, each with `_before` and `_after` behind it.
    """
    connection = Tube(port, name)
    before = _rates(connection, 100, seconds)
    _Loads(connection, 1_000).put(jobs)
    after = _rates(connection, 100, seconds)
    connection.close()
    return {
        **{f"{key}_before": value for key, value in before.items()},
        **{f"{key}_after": value for key, value in after.items()},
    }
