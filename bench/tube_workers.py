"""Lean loads of many beanstalk connections: producers, and workers whose reserves wait."""

import select
import time
from collections import deque
from collections.abc import Callable

from bench import tube
from bench.tube import AnswerError, Tube

_WARM_UP_S = 0.2
_STUCK_S = 20
_UNDER_WAY_MAX = 50
"""Jobs that are put and not deleted: two for each worker. A worker goes to and fro twice for a job
and a producer once, so without a bound the tube would only grow, and no reserve ever wait."""


class _Crew:
    """Connections that are served as their answers come."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._heard: dict[int, Callable[[], None]] = {}
        self._connections: list[Tube] = []

    def enlist(self, connection: Tube, heard: Callable[[], None]) -> None:
        """Call heard whenever the connection has an answer."""
        self._poll.register(connection, select.EPOLLIN)
        self._heard[connection.fileno()] = heard
        self._connections.append(connection)

    def serve(self) -> None:
        """Wait for answers, and hear each of them."""
        events = self._poll.poll(_STUCK_S)
        if not events:
            raise AnswerError(f"nobody was answered anything for {_STUCK_S} s")
        heard = self._heard
        for fd, _ in events:
            heard[fd]()

    def leave(self) -> None:
        """Close all connections; reserves may wait on some."""
        for connection in self._connections:
            connection.close()
        self._poll.close()


def _worker(connection: Tube, deleted: Callable[[], None]) -> Callable[[], None]:
    """Reserve and delete, one job at a time, for ever."""
    send, receive = connection.send, connection.receive
    holding = False

    def heard() -> None:
        nonlocal holding
        answer = receive(1 if holding else 2)
        if not holding:
            holding = True
            send(b"delete %b\r\n" % tube.job_id(answer))
            return
        if answer != tube.DELETED:
            raise AnswerError(f"a delete was answered {answer!r}")
        holding = False
        send(tube.RESERVE)
        deleted()

    send(tube.RESERVE)
    return heard


class _Shop:
    """How many jobs are under way, and which producers pause because they are too many."""

    def __init__(self) -> None:
        self.open = True
        self.done = 0
        self.under_way = 0
        self._pausing: deque[Callable[[], None]] = deque()

    def hire(self, connection: Tube) -> Callable[[], None]:
        """Put, one job at a time."""
        data, send, receive = tube.put(), connection.send, connection.receive

        def put() -> None:
            self.under_way += 1
            send(data)

        def heard() -> None:
            answer = receive(1)
            if not answer.startswith(tube.INSERTED):
                raise AnswerError(f"a put was answered {answer!r}")
            if not self.open:
                return
            if self.under_way < _UNDER_WAY_MAX:
                put()
            else:
                self._pausing.append(put)

        put()
        return heard

    def deleted(self) -> None:
        """One job less."""
        self.done += 1
        self.under_way -= 1
        if self._pausing and self.open:
            self._pausing.popleft()()


def hand_over(
    port: int, *, name: bytes, producers: int, workers: int, seconds: float
) -> dict[str, float]:
    """Jobs per second from producers to workers, each on its own connection, one at a time."""
    crew, shop = _Crew(), _Shop()
    for _ in range(workers):
        connection = Tube(port, name)
        crew.enlist(connection, _worker(connection, shop.deleted))
    for _ in range(producers):
        connection = Tube(port, name)
        crew.enlist(connection, shop.hire(connection))
    warm_until = time.perf_counter() + _WARM_UP_S
    while (began_s := time.perf_counter()) < warm_until:
        crew.serve()
    done, cpu_began_s = shop.done, time.process_time()
    while (now_s := time.perf_counter()) < began_s + seconds:
        crew.serve()
    figures = {
        "jobs_per_s": (shop.done - done) / (now_s - began_s),
        "generator_cpu": (time.process_time() - cpu_began_s) / (now_s - began_s),
    }
    shop.open = False
    while shop.under_way:
        crew.serve()
    crew.leave()
    return figures


def keyed(port: int, *, name: bytes, keys: int, workers: int, jobs: int) -> dict[str, float]:
    """Jobs per second of a tube whose jobs have so many concurrency keys, one slot each, in turn.

    All jobs are put first, which does not count.
    """
    assert jobs % (20 * keys) == 0, "a packet has 20 jobs of each key"
    producer = Tube(port, name)
    packet = b"".join(tube.put(b" con:%b-%d" % (name, key)) for key in range(keys)) * 20
    for _ in range(jobs // (20 * keys)):
        producer.ask(packet, 20 * keys)
    crew = _Crew()
    done = 0

    def deleted() -> None:
        nonlocal done
        done += 1

    began_s, cpu_began_s = time.perf_counter(), time.process_time()
    for _ in range(workers):
        connection = Tube(port, name)
        crew.enlist(connection, _worker(connection, deleted))
    while done < jobs:
        crew.serve()
    elapsed_s = time.perf_counter() - began_s
    cpu_s = time.process_time() - cpu_began_s
    crew.leave()
    producer.close()
    return {"jobs_per_s": jobs / elapsed_s, "generator_cpu": cpu_s / elapsed_s}
