"""Who answers for a job that is not there."""

from etcdq.actors.core import NEVER_S
from etcdq.actors.errors import NoSuchJobError
from etcdq.actors.queue import tube_messages as t
from etcdq.actors.queue.nobody import NoJobCore
from tests.support.playbook import Playbook
from tests.support.queue_book import ASKER, reply
from tests.support.tube_book import TubeBook


def test_every_question_for_a_job_is_answered() -> None:
    """There is no such job, whatever was to be done to it."""
    there_is_none = reply(NoSuchJobError("there is no job 7"))
    for message in (
        t.DeleteJob(ASKER, 7, 1),
        t.ReleaseJob(ASKER, 7, 1, 0, 0.0),
        t.BuryJob(ASKER, 7, 1, 0),
        t.TouchJob(ASKER, 7, 1),
        t.KickJob(ASKER, 7),
        t.PeekJob(ASKER, 7),
        t.ShowJob(ASKER, 7),
    ):
        Playbook(NoJobCore(7)) >> message << [there_is_none]


def test_it_has_no_time_and_no_memory() -> None:
    """It is due never and shows nothing."""
    core = NoJobCore(7)
    assert core.next_deadline_s() == NEVER_S
    assert core.statistics() is None


def test_nobody_is_left_when_the_batch_is_over() -> None:
    """Ids that nobody has leave nothing behind."""
    book = TubeBook()
    for job_id in (0, 5, 2**64 - 1):
        assert isinstance(book.ask(job_id, t.PeekJob, job_id).value, NoSuchJobError)
    assert book.stage.cores == {}


def test_an_id_may_be_that_of_a_job_a_moment_later() -> None:
    """In one batch: no job 1, job 1 is put, and it is deleted."""
    book = TubeBook()
    client = book.connect()
    with book.batch():
        before = client.delete(1)
        put = book.ask_put(b"default")
        shown = book.ask(1, t.PeekJob, 1)
        deleted = client.delete(1)
        after = client.delete(1)
    assert isinstance(before.value, NoSuchJobError)
    assert put.value.job_id == shown.value.job_id == 1
    assert deleted.value == t.Done()
    assert isinstance(after.value, NoSuchJobError)
