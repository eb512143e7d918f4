"""What the lean beanstalk client sends, and how it reads answers, against a real socket's bytes."""

import socket
import threading
from collections.abc import Callable

import pytest

from bench import tube
from bench.calls import VALUE
from bench.tube import AnswerError, Tube


def reserved(*job_ids: int) -> bytes:
    return b"".join(b"RESERVED %d 100\r\n%b\r\n" % (job_id, VALUE) for job_id in job_ids)


def test_a_put_may_have_tags() -> None:
    """They stand behind the size of the body."""
    head, body, end = tube.put(b" con:key").split(b"\r\n")
    assert (head, body, end) == (b"put 1024 0 120 100 con:key", VALUE, b"")


def test_reserved_jobs_become_their_deletes() -> None:
    """In the same order, ids of any length."""
    assert tube.deletes(reserved(7, 1234567), 2) == b"delete 7\r\ndelete 1234567\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        reserved(7),
        reserved(7) + b"TIMED_OUT\r\n",
        reserved(7, 8, 9),
        b"",
        reserved(7, 8) + b"x\r\n",
    ],
)
def test_other_than_so_many_jobs_is_an_error(answer: bytes) -> None:
    """A load that takes fewer jobs than it counts would be a wrong figure."""
    with pytest.raises(AnswerError):
        tube.deletes(answer, 2)


def test_a_batch_becomes_one_delete() -> None:
    """All ids on one line."""
    answer = b"RESERVED_BATCH 3\r\n" + reserved(7, 80, 900)
    assert tube.delete_batch(answer, 3) == b"delete-batch 7 80 900\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        b"RESERVED_BATCH 1\r\n" + reserved(7),
        b"RESERVED_BATCH 2\r\n" + reserved(7),
        b"RESERVED_BATCH 0\r\n",
        b"UNKNOWN_COMMAND\r\n",
    ],
)
def test_a_batch_of_other_than_so_many_jobs_is_an_error(answer: bytes) -> None:
    """The server may have fewer, or may not know the command."""
    with pytest.raises(AnswerError):
        tube.delete_batch(answer, 2)


def test_the_id_of_one_job() -> None:
    """Of a whole answer only."""
    assert tube.job_id(reserved(1234)) == b"1234"
    for other in (b"DEADLINE_SOON\r\n", reserved(1234)[:-1]):
        with pytest.raises(AnswerError):
            tube.job_id(other)


def with_server(replies: list[bytes], talk: Callable[[int], None]) -> None:
    """Let `talk` speak to a port where each packet gets the next reply, and then the end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with listener.accept()[0] as peer:
                for reply in replies:
                    peer.recv(1 << 16)
                    for piece in reply.split(b"|"):
                        peer.sendall(piece)

        server = threading.Thread(target=serve)
        server.start()
        talk(listener.getsockname()[1])
        server.join()


_WELCOME = b"USING t\r\nWATCHING 2\r\nWATCHING 1\r\n"


def test_an_answer_is_complete_when_it_has_its_lines() -> None:
    """However many pieces it comes in."""
    answers = []

    def talk(port: int) -> None:
        connection = Tube(port, b"t")
        answers.append(connection.ask(tube.RESERVE_NOW, 2))
        with pytest.raises(AnswerError, match="closed"):
            connection.ask(tube.RESERVE_NOW, 2)
        connection.close()

    job = reserved(7)
    with_server([_WELCOME, job[:5] + b"|" + job[5:50] + b"|" + job[50:], b""], talk)
    assert answers == [job]


def test_a_server_that_says_other_than_beanstalk_is_refused() -> None:
    """Before anything is measured."""

    def talk(port: int) -> None:
        with pytest.raises(AnswerError):
            Tube(port, b"t")

    with_server([b"a\r\nb\r\nc\r\n"], talk)
