"""The blocking client among threads, signals and forks."""

import os
import signal
import threading
from collections.abc import Callable

import pytest

from etcdq import beanstalk
from etcdq.beanstalk import BlockingClient
from tests.support.blocking_server import (
    END_S,
    SILENCE,
    answer_puts,
    run_blocking_server,
)

PUT = [b"put 1024 0 60 1\r\n", b"x\r\n"]
MAY_FORK = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
"""From Python 3.12 on a fork beside threads warns: what it warns of is what is tested."""


def in_thread(function: Callable[[], object]) -> None:
    """Run it in a thread that ends."""
    thread = threading.Thread(target=function)
    thread.start()
    thread.join(END_S)
    assert not thread.is_alive()


def in_child(function: Callable[[], object]) -> int:
    """Run it in a forked child; return how the child ended."""
    child = os.fork()
    if child == 0:
        try:
            function()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# threads -----------------------------------------------------------------------------------


def test_a_connection_per_thread() -> None:
    """Threads never share one, and what a thread opened is closed when it ends."""
    with run_blocking_server(answer_puts) as server, BlockingClient(server.address) as client:
        client.put("default", b"x")
        for _ in range(20):
            in_thread(lambda: client.put("default", b"x"))
            server.wait_until_open(1)
        client.put("default", b"x")
    assert server.lines == [[*PUT, *PUT], *[PUT] * 20]


def test_close_ends_the_wait_of_other_threads() -> None:
    """They are told that it was closed, and so are later calls."""
    asked = threading.Event()
    caught: list[type[BaseException]] = []

    def answer(line: bytes) -> bytes | None:
        asked.set()
        return SILENCE

    def wait(client: BlockingClient) -> None:
        try:
            client.stats()
        except beanstalk.EtcdqError as error:
            caught.append(type(error))

    with run_blocking_server(answer) as server:
        client = BlockingClient(server.address, timeout_s=END_S)
        thread = threading.Thread(target=wait, args=(client,))
        thread.start()
        assert asked.wait(END_S)
        client.close()
        thread.join(END_S)

        assert caught == [beanstalk.ClosedError]
        for call in (client.stats, client.reachable):
            with pytest.raises(beanstalk.ClosedError):
                call()
        server.wait_until_open(0)


class Interrupted(BaseException):
    """Raised in the middle of a call, as a web server's timeout would be."""


def test_interrupted_in_the_middle() -> None:
    """What cuts a call short comes out as it is, and its late answer meets no later call."""
    main = threading.main_thread().ident
    assert main is not None

    def answer(line: bytes) -> bytes | None:
        if line == b"stats\r\n":
            signal.pthread_kill(main, signal.SIGUSR2)
            return SILENCE
        return answer_puts(line)

    def interrupt(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGUSR2, interrupt)
    try:
        with run_blocking_server(answer) as server, BlockingClient(server.address) as client:
            with pytest.raises(Interrupted):
                client.stats()
            client.put("default", b"x")
        assert server.lines == [[b"stats\r\n"], PUT]
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_a_call_within_a_call() -> None:
    """A signal handler that asks something of its own does not speak into what it interrupts."""
    main = threading.main_thread().ident
    assert main is not None
    handled = threading.Event()

    def answer(line: bytes) -> bytes | None:
        if line == b"list-tube-used\r\n":
            signal.pthread_kill(main, signal.SIGUSR2)
            assert handled.wait(END_S)
            return b"USING default\r\n"
        return answer_puts(line)

    def put(*_: object) -> None:
        client.put("default", b"x")
        handled.set()

    before = signal.signal(signal.SIGUSR2, put)
    try:
        with run_blocking_server(answer) as server, BlockingClient(server.address) as client:
            assert client.reachable()
            server.wait_until_open(1)
        assert server.lines == [[b"list-tube-used\r\n"], PUT]
    finally:
        signal.signal(signal.SIGUSR2, before)


# forks -------------------------------------------------------------------------------------


@MAY_FORK
def test_a_forked_child_has_its_own_connection() -> None:
    """The child speaks on a new one, and its end leaves the parent's as it was."""
    with run_blocking_server(answer_puts) as server, BlockingClient(server.address) as client:
        client.put("default", b"x")

        assert in_child(lambda: client.put("default", b"x")) == 0
        server.wait_until_open(1)
        assert in_child(client.close) == 0
        client.put("default", b"x")
    assert server.lines == [[*PUT, *PUT], PUT]


@MAY_FORK
def test_a_fork_while_another_thread_asks() -> None:
    """The child is not held up by a lock, nor does it hear the other thread's answer."""
    asked, answered = threading.Event(), threading.Event()

    def answer(line: bytes) -> bytes | None:
        if line == b"list-tube-used\r\n":
            asked.set()
            assert answered.wait(END_S)
            return b"USING default\r\n"
        return answer_puts(line)

    reached: list[bool] = []
    with run_blocking_server(answer) as server, BlockingClient(server.address) as client:
        thread = threading.Thread(target=lambda: reached.append(client.reachable()))
        thread.start()
        assert asked.wait(END_S)
        with client._lock:
            ended = in_child(lambda: client.put("default", b"x"))
        answered.set()
        thread.join(END_S)

        assert ended == 0
        assert reached == [True]
    assert server.lines == [[b"list-tube-used\r\n"], PUT]
