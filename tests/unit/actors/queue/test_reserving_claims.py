"""What a queue answers to workers, message by message: claims that cross with others, invitations
that come to nothing. No stage puts them in order here."""

from typing import Any

from etcdq.actors.effect import Tell
from etcdq.actors.message import Address
from etcdq.actors.queue import tube_messages as t
from tests.support.playbook import Named
from tests.support.queue_book import ASKER, FIRST, QueueBook, put

ONE, OTHER = t.Reserver(1), t.Reserver(2)


def worker(reserver: t.Reserver) -> Address:
    """Return a worker's address."""
    return Address(Named(f"worker {reserver.connection}"), None)


def claim(reserver: t.Reserver, **fields: Any) -> t.Claim:
    """Return a claim."""
    return t.Claim(worker(reserver), reserver, **fields)


def wait(reserver: t.Reserver) -> t.Wait:
    """Return the word of one that waits."""
    return t.Wait(worker(reserver), reserver.connection)


def granted(reserver: t.Reserver, *job_ids: int) -> Tell:
    """Return the answer to a claim."""
    grants = tuple(t.Grant(job_id, b"body") for job_id in job_ids)
    return Tell(worker(reserver).handle, t.Granted(b"jobs", grants))


def invited(reserver: t.Reserver) -> Tell:
    """Return an invitation."""
    return Tell(worker(reserver).handle, t.Invite(b"jobs"))


def book_of(count: int) -> QueueBook:
    """Return a queue with jobs."""
    book = QueueBook().fill(count)
    book >> t.Refer(watching=2) << []
    return book


def test_a_claim_is_granted_from_the_head_on() -> None:
    """As many as it wants, none behind its limit; then there is nothing."""
    book = book_of(4)
    book >> claim(ONE) << [granted(ONE, 1)]
    book >> claim(ONE, limit=(1024, FIRST), count=9) << [granted(ONE)]
    book >> claim(ONE, limit=(1024, FIRST + 2), count=9) << [granted(ONE, 2, 3)]
    book >> claim(OTHER, count=9) << [granted(OTHER, 4)]
    book >> claim(ONE, count=9) << [granted(ONE)]


def test_two_claims_of_one_job() -> None:
    """The second gets nothing, whatever it saw."""
    book = book_of(1)
    book >> claim(ONE) >> claim(OTHER) << [granted(ONE, 1), granted(OTHER)]


def test_one_that_was_not_invited_is_refused_while_others_wait() -> None:
    """Also before the invitation: jobs are spoken for as soon as somebody waits."""
    book = QueueBook()
    book >> t.Refer(watching=2) >> wait(ONE) >> put() >> claim(OTHER)
    assert book.end_batch()[-2:] == [granted(OTHER), invited(ONE)]
    assert book.queue.face(0.0) == t.Face((1024, FIRST), 1, 0.0, 0)
    book >> claim(OTHER) >> claim(ONE) << [granted(OTHER), granted(ONE, 1)]


def test_nothing_is_shown_before_the_first_that_waits_is_invited() -> None:
    """Who looks in that moment would overtake."""
    book = QueueBook()
    book >> t.Refer(watching=2) >> wait(ONE) >> put()
    assert book.queue.face(0.0) is None
    book.end_batch()
    assert book.queue.face(0.0) is not None


def test_one_that_waited_gets_one_job_where_others_wait() -> None:
    """Even if it wants more; the last one gets what it wants."""
    book = QueueBook()
    book >> t.Refer(watching=2) >> wait(ONE) >> wait(OTHER) >> put() >> put() >> put()
    assert book.end_batch()[-1] == invited(ONE)
    book >> claim(ONE, count=9) >> t.Forget(1) << [granted(ONE, 1), invited(OTHER)]
    book >> claim(OTHER, count=9) >> t.Forget(2) << [granted(OTHER, 2, 3)]


def test_one_that_claims_in_vain_keeps_its_place() -> None:
    """The job went another way meanwhile; the next one is for who waited first."""
    book = QueueBook()
    book >> t.Refer(watching=2) >> wait(ONE) >> wait(OTHER) >> put()
    assert book.end_batch()[-1] == invited(ONE)
    book >> t.DeleteJob(ASKER, 1, 9) >> claim(ONE)
    assert book.end_batch()[-1] == granted(ONE)
    book >> put()
    assert book.end_batch()[-1] == invited(ONE)


def test_one_that_finds_nothing_keeps_its_place_and_is_invited_anew() -> None:
    """It looked when the job was gone and says that it waits."""
    book = QueueBook()
    book >> t.Refer(watching=2) >> wait(ONE) >> wait(OTHER) >> put()
    book.end_batch()
    book >> t.DeleteJob(ASKER, 1, 9) >> wait(ONE)
    book.end_batch()
    book >> put()
    assert book.end_batch()[-1] == invited(ONE)


def test_the_next_is_invited_when_the_invited_takes_a_job_elsewhere() -> None:
    """It forgets, and the job waits for nobody who is gone."""
    book = QueueBook()
    book >> t.Refer(watching=2) >> wait(ONE) >> wait(OTHER) >> put()
    book.end_batch()
    book >> t.Forget(1) << [invited(OTHER)]
    book >> t.Abandon(2, ()) << []
    book >> claim(ONE) << [granted(ONE, 1)]


def test_a_pause_under_an_invitation() -> None:
    """The claim comes too late; when the pause is over the first is invited again."""
    book = QueueBook()
    book >> t.Refer(watching=2) >> wait(ONE) >> wait(OTHER) >> put()
    book.end_batch()
    book >> t.PauseTube(ASKER, 5.0) >> claim(ONE)
    assert book.end_batch()[-1] == granted(ONE)
    assert book.queue.face(4.9) is None
    book.at(5.0) << [invited(ONE)]


def test_what_a_claim_by_id_is_refused() -> None:
    """A job that is gone, or in other hands."""
    book = book_of(2)
    one = t.ClaimJob(worker(ONE), ONE, 1)
    book >> one >> t.ClaimJob(worker(OTHER), OTHER, 1) << [granted(ONE, 1), granted(OTHER)]
    book >> t.DeleteJob(ASKER, 1, 1)
    book.end_batch()
    book >> one << [granted(ONE)]
    book >> t.ClaimJob(worker(ONE), ONE, 99) << [granted(ONE)]


def test_a_claim_at_a_queue_that_is_gone() -> None:
    """Nothing is granted, and nothing begins to exist."""
    book = QueueBook()
    book >> claim(ONE) >> t.ClaimJob(worker(ONE), ONE, 1) >> t.Abandon(1, (1,)) >> t.Forget(1)
    assert book.end_batch()[:2] == [granted(ONE), granted(ONE)]
    assert not book.queue.exists


def test_only_what_a_connection_still_holds_is_given_back() -> None:
    """What it released, or lost, is not taken out of other hands."""
    book = book_of(3)
    book >> claim(ONE, count=3)
    book.end_batch()
    book >> t.ReleaseJob(ASKER, 1, 1, 1024, 0.0) >> claim(OTHER) >> t.DeleteJob(ASKER, 2, 1)
    book.end_batch()
    book >> t.Abandon(1, (1, 2, 3))
    book.end_batch()
    holders = {job.job_id: job.holder for job in book.context.directory.values()}
    assert holders == {1: OTHER, 3: None}
