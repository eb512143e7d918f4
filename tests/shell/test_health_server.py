"""The thread that answers probes: beside a loop that turns, and beside one that does not."""

import http.client
import json
import socket
import statistics
import time
from typing import Any, cast

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair

from etcdq.health import HealthServer, Pulse, open_health
from etcdq.health.http import Http
from etcdq.health.server import CONNECTIONS_MAX, SILENCE_S, answer_probes
from tests.support.health_status import SetStatus

ANSWER_S = 10.0


def probe(server: HealthServer, path: str) -> tuple[int, dict[str, Any]]:
    """Ask from this thread, which waits: its own loop stands still meanwhile."""
    connection = http.client.HTTPConnection(server.address, timeout=ANSWER_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


async def test_told_while_the_loop_is_blocked() -> None:
    """This very loop is blocked by asking, and the answer comes; after a while it is "not live"."""
    pulse, late_s = Pulse(), 0.0
    status = SetStatus(beat_s=pulse.beat_s)
    with open_health(status, 0, clock=lambda: pulse.beat_s + late_s) as server:
        assert probe(server, "/live")[0] == 200
        late_s = 30.0
        code, body = probe(server, "/live")

        assert (code, body["live"], body["heartbeat_age_s"]) == (503, False, 30)
        assert probe(server, "/ready")[0] == 503


def test_states_of_a_process() -> None:
    """Before the first connect, at work, in an outage, while stopping: each as it is now."""
    status = SetStatus(is_connected=False, is_accepting=False, jobs_running=0)
    with open_health(status, 0, clock=lambda: 0.0) as server:
        for is_connected, is_accepting, ready in (
            (False, False, 503),
            (True, True, 200),
            (False, True, 503),
            (True, False, 503),
        ):
            status.is_connected, status.is_accepting = is_connected, is_accepting
            assert probe(server, "/live")[0] == 200
            assert probe(server, "/ready")[0] == ready
        status.jobs_running = 7
        assert probe(server, "/ready")[1]["jobs_running"] == 7


def test_probes_are_cheap() -> None:
    """Half of two hundred probes, each on a connection of its own, take less than 50 ms."""
    took_s = []
    with open_health(SetStatus(), 0, clock=lambda: 0.0) as server:
        for _ in range(200):
            start_s = time.monotonic()
            probe(server, "/ready")
            took_s.append(time.monotonic() - start_s)
    assert statistics.median(took_s) < 0.05


def test_it_ends_with_its_block() -> None:
    """Nobody listens afterwards, and the port is free for the next one."""
    with open_health(SetStatus(), 0) as server:
        server.check()
        host, _, port = server.address.partition(":")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), ANSWER_S)
    with pytest.raises(RuntimeError, match="has ended"):
        server.check()
    with open_health(SetStatus(), int(port)) as again:
        assert again.address == server.address


def test_a_port_that_is_taken() -> None:
    """It is told at once, where it was opened."""
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(OSError, match="in use"),
        open_health(SetStatus(), taken.getsockname()[1]),
    ):
        pass


async def test_a_fault_is_not_hidden() -> None:
    """A process that can no longer be probed is told so by its own heartbeat."""
    with open_health(SetStatus(beat_s=cast(float, "a fault")), 0) as server:
        with pytest.raises(http.client.HTTPException):
            probe(server, "/live")
        server._thread.join(ANSWER_S)
        with pytest.raises(RuntimeError, match="has ended"):
            await Pulse().run(server.check)


def test_more_connections_than_there_are_probes() -> None:
    """Who keeps connections open gets no more than so many; they hold up nobody for ever."""
    with open_health(SetStatus(), 0, clock=lambda: 0.0) as server:
        host, _, port = server.address.partition(":")
        held = [
            socket.create_connection((host, int(port)), ANSWER_S) for _ in range(CONNECTIONS_MAX)
        ]
        try:
            with socket.create_connection((host, int(port)), ANSWER_S) as one_more:
                assert one_more.recv(1) == b""
            for each in held:
                each.sendall(b"GET /live HTTP/1.0\r\n\r\n")
                assert each.recv(12) == b"HTTP/1.1 200"
        finally:
            for each in held:
                each.close()
        assert probe(server, "/live")[0] == 200


async def test_a_silent_connection_is_closed(autojump_clock: MockClock) -> None:
    """After a while without a request."""
    ours, theirs = memory_stream_pair()
    await theirs.send_all(b"GET /live HTTP/1.1\r\nhost: x\r\n\r\n")
    await answer_probes(ours, Http(SetStatus(), lambda: 0.0))

    assert trio.current_time() == SILENCE_S
    assert (await theirs.receive_some(12)) == b"HTTP/1.1 200"


async def test_a_pulse_beats(autojump_clock: MockClock) -> None:
    """Once a second, and whatever is wrong with what it looks after ends it."""
    pulse, beats = Pulse(), []

    def check() -> None:
        beats.append(trio.current_time())
        if len(beats) == 4:
            raise LookupError("a fault")

    before_s = pulse.beat_s
    with pytest.raises(LookupError):
        await pulse.run(check)
    assert beats == [0, 1, 2, 3]
    assert pulse.beat_s > before_s
