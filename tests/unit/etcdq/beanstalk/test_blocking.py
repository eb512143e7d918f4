"""The blocking client in one thread: what it says, lost connections, deadlines, health."""

import socket
from collections.abc import Callable
from contextlib import suppress

import pytest

from etcdq import beanstalk
from etcdq.beanstalk import UNKNOWN, BlockingClient, Inserted
from tests.support.blocking_server import (
    HANG_UP,
    SILENCE,
    BlockingServer,
    answer_puts,
    run_blocking_server,
)
from tests.support.processes import free_port

PUT = [b"put 1024 0 60 1\r\n", b"x\r\n"]
SHORT_S = 0.05
JOB = b"RESERVED 7 4\r\n\r\n\r\n\r\n"


# what goes out -----------------------------------------------------------------------------


def test_connects_when_it_is_first_asked() -> None:
    """No server is needed to make one; puts name their tube, and say `use` when it changes."""
    with run_blocking_server(answer_puts) as server, BlockingClient(server.address) as client:
        assert server.lines == []
        assert client.address == server.address

        for tube in ("default", "mail", "mail", "tasks"):
            assert client.put(tube, b"x") == Inserted(1)
    assert server.lines == [[*PUT, b"use mail\r\n", *PUT, *PUT, b"use tasks\r\n", *PUT]]


def test_every_command() -> None:
    """Each call sends its command, and reads its answer."""
    document = b"OK 18\r\n---\nid: 5\ntube: 7\n\r\n"
    names = b"OK 13\r\n---\n- default\r\n"
    answers = {
        b"reserve-with-timeout 3\r\n": JOB,
        b"watch mail\r\n": b"WATCHING 2\r\n",
        b"ignore default\r\n": b"WATCHING 1\r\n",
        b"use mail\r\n": b"USING mail\r\n",
        b"touch 7\r\n": b"TOUCHED\r\n",
        b"release 7 1024 2\r\n": b"RELEASED\r\n",
        b"bury 7 5\r\n": b"BURIED\r\n",
        b"kick 9\r\n": b"KICKED 4\r\n",
        b"delete 7\r\n": b"DELETED\r\n",
        b"peek 7\r\n": JOB.replace(b"RESERVED", b"FOUND"),
        b"stats\r\n": document,
        b"stats-job 7\r\n": document,
        b"stats-tube mail\r\n": document,
        b"list-tubes\r\n": names,
    }
    with run_blocking_server(answers.get) as server, BlockingClient(server.address) as client:
        job = client.reserve("mail", 3)
        assert job == beanstalk.Job(7, b"\r\n\r\n")
        client.touch(7)
        client.release(7, delay_s=2)
        client.bury(7, priority=5)
        assert client.kick("mail", 9) == 4
        client.delete(7)
        assert client.peek(7) == job
        assert client.stats()["tube"] == 7
        assert client.stats_job(7)["tube"] == "7"
        assert client.stats_tube("mail")["tube"] == 7
        assert client.list_tubes() == ["default"]
    assert {line for said in server.lines for line in said} == answers.keys()


def test_what_cannot_be_said_is_not_sent() -> None:
    """A value that no server reads is refused before anything is sent."""
    client = BlockingClient(f"127.0.0.1:{free_port()}")
    calls: list[Callable[[], object]] = [
        lambda: client.put("no tube", b""),
        lambda: client.put("mail", b"", priority=-1),
        lambda: client.kick("no tube"),
        lambda: client.reserve(()),
        lambda: client.reserve("mail", -1),
        lambda: client.delete(-1),
        lambda: client.queue_depth("no tube"),
        lambda: BlockingClient("http://x"),
    ]

    for call in calls:
        with pytest.raises(beanstalk.InvalidArgumentError):
            call()


def test_a_refusal_keeps_the_connection() -> None:
    """The stream is in step after an error reply."""

    def answer(line: bytes) -> bytes | None:
        return b"NOT_FOUND\r\n" if line.startswith(b"touch") else answer_puts(line)

    with run_blocking_server(answer) as server, BlockingClient(server.address) as client:
        with pytest.raises(beanstalk.NotFoundError):
            client.touch(5)
        client.put("default", b"x")
    assert server.lines == [[b"touch 5\r\n", *PUT]]


# lost connections --------------------------------------------------------------------------


def test_a_put_that_finds_its_connection_closed() -> None:
    """It is made once on a new connection, with its tube used again."""
    with run_blocking_server(answer_puts) as server, BlockingClient(server.address) as client:
        client.put("mail", b"x")
        server.hang_up()
        client.put("mail", b"x")
    assert server.lines == [[b"use mail\r\n", *PUT]] * 2


def test_a_put_whose_answer_is_lost_twice() -> None:
    """It is made once more and no further, and what is told is that it may have happened."""

    def answer(line: bytes) -> bytes | None:
        return HANG_UP if line == b"x\r\n" else SILENCE

    with run_blocking_server(answer) as server:
        client = BlockingClient(server.address)
        with pytest.raises(beanstalk.ConnectionLostError, match="lost"):
            client.put("default", b"x")
    assert server.lines == [PUT, PUT]


def test_an_answer_lost_and_nobody_there_after() -> None:
    """The first failure is told, for it alone says that the put may have happened."""
    server: BlockingServer

    def answer(line: bytes) -> bytes | None:
        if line == b"x\r\n":
            with suppress(OSError):
                server._listener.shutdown(socket.SHUT_RDWR)
            return HANG_UP
        return SILENCE

    with run_blocking_server(answer) as server:
        client = BlockingClient(server.address)
        with pytest.raises(beanstalk.ConnectionLostError) as caught:
            client.put("default", b"x")
    assert isinstance(caught.value.__cause__, beanstalk.NotConnectedError)


def test_a_delete_whose_answer_is_lost() -> None:
    """It is not made again: a second one might say NOT_FOUND of what the first has done."""
    with run_blocking_server(lambda line: HANG_UP) as server:
        with pytest.raises(beanstalk.ConnectionLostError):
            BlockingClient(server.address).delete(5)
        assert server.lines == [[b"delete 5\r\n"]]


def test_a_reserve_on_a_new_connection_watches_again() -> None:
    """A tube is never forgotten with the connection that watched it."""

    def answer(line: bytes) -> bytes | None:
        return JOB if line.startswith(b"reserve") else b"WATCHING 1\r\n"

    with run_blocking_server(answer) as server, BlockingClient(server.address) as client:
        client.reserve("mail")
        server.hang_up()
        client.reserve(["mail"])
    said = [b"watch mail\r\n", b"ignore default\r\n", b"reserve-with-timeout 0\r\n"]
    assert server.lines == [said, said]


@pytest.mark.parametrize("reply", [b"HTTP/1.1 400\r\n", b"DELETED\r\n", b"\xff\r\n"])
def test_a_server_that_speaks_something_else(reply: bytes) -> None:
    """It is told as such, and the next call has a new connection."""
    with run_blocking_server(lambda line: reply) as server:
        with BlockingClient(server.address) as client:
            for _ in range(2):
                with pytest.raises(beanstalk.RemoteProtocolError):
                    client.stats()
        assert server.lines == [[b"stats\r\n"]] * 2


def test_nobody_there() -> None:
    """Nothing was sent, and the error says so."""
    with pytest.raises(beanstalk.NotConnectedError, match="connection refused"):
        BlockingClient(f"127.0.0.1:{free_port()}").put("mail", b"x")
    with pytest.raises(beanstalk.NotConnectedError, match="no such file"):
        BlockingClient("unix:/nowhere/at/all").put("mail", b"x")


# deadlines ---------------------------------------------------------------------------------


def test_a_silent_server() -> None:
    """No call hangs; the connection is left, for its answer may still come."""
    with run_blocking_server(lambda line: SILENCE) as server:
        client = BlockingClient(server.address, timeout_s=SHORT_S)
        for _ in range(2):
            with pytest.raises(beanstalk.DeadlineExceededError):
                client.put("default", b"x")
        assert len(server.lines) == 2


def test_a_server_that_takes_no_connection() -> None:
    """Where even connecting gets no answer, that has the same deadline."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(3)]
        try:
            for each in waiting:
                each.setblocking(False)
                each.connect_ex(address)
            with pytest.raises(beanstalk.NotConnectedError, match="no answer"):
                BlockingClient(f"127.0.0.1:{address[1]}", timeout_s=SHORT_S).stats()
        finally:
            for each in waiting:
                each.close()


# health ------------------------------------------------------------------------------------


def test_away_is_not_empty() -> None:
    """Nobody there, a silent server and one that speaks nonsense are away; nothing raises."""
    with (
        run_blocking_server(lambda line: SILENCE) as silent,
        run_blocking_server(lambda line: b"220 hello\r\n") as other,
    ):
        for address in (f"127.0.0.1:{free_port()}", silent.address, other.address):
            with BlockingClient(address, timeout_s=SHORT_S) as client:
                assert not client.reachable()
                assert client.queue_depth() is UNKNOWN
                assert client.queue_depth("mail") is UNKNOWN
                assert not client.queue_depths().known
