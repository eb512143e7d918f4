"""Puts with everything that tuber lets them say, and producer keys of beanstalk jobs."""

import pytest

from etcdq.actors.errors import DrainingError, OverLimitError
from etcdq.actors.message import Address
from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from etcdq.actors.queue.job import BURIED, DELAYED, READY, RESERVED
from tests.support.tube_book import TubeBook


def test_a_row_of_puts_is_answered_in_one() -> None:
    """Each with what it would have been answered alone."""
    book = TubeBook()
    asked = book.ask_put(b"t")
    to = Address(asked, None)
    puts = (m.Put(to, b"", b"", b"1"), m.Put(to, b"", b"", b"2", tags=m.Tags(idp=b"k")))
    row = book.ask(b"t", t.Puts, (*puts, puts[1]))
    assert row.value == (m.Inserted(2, 1002), m.Inserted(3, 1003), t.Duplicate(3, READY))
    assert book.show(b"t").ready == 3


def test_a_refused_row_makes_no_tube() -> None:
    """A tube is there from its first job on."""
    book = TubeBook()
    book.context.draining = True
    row = book.ask(b"t", t.Puts, (m.Put(Address(None, None), b"", b"", b""),))
    assert row.value == (DrainingError("the node is draining and takes no new jobs"),)
    assert book.context.tubes.names() == [b"default"]


@pytest.mark.parametrize(
    ("old", "new", "said"), [(100, 50, 50), (100, 100, None), (100, 200, None)]
)
def test_a_duplicate_can_only_make_a_job_more_urgent(old: int, new: int, said: int | None) -> None:
    """It makes no new job, and says whose id it is and in which state."""
    book = TubeBook()
    first = book.put(b"t", priority=old, idp=b"k")
    answer = book.ask_put(b"t", priority=new, idp=b"k").value
    assert answer == t.Duplicate(first, READY, said)
    assert book.job(first).view.priority == (said or old)
    assert book.show(b"t").jobs_total == 1


def test_a_duplicate_in_every_state() -> None:
    """The key is taken while the job lives, and free when it is deleted without a ttl."""
    book = TubeBook()
    connection = book.connect(b"t")
    job_id = book.put(b"t", idp=b"k", delay_s=5.0)
    assert book.ask_put(b"t", idp=b"k").value == t.Duplicate(job_id, DELAYED)
    book.ask(job_id, t.KickJob, job_id)
    assert connection.reserve().job_ids == [job_id]
    assert book.ask_put(b"t", idp=b"k").value == t.Duplicate(job_id, RESERVED)
    connection.bury(job_id)
    assert book.ask_put(b"t", idp=b"k").value == t.Duplicate(job_id, BURIED)
    assert type(book.ask_put(b"other", idp=b"k").value) is m.Inserted
    connection.delete(job_id)
    assert type(book.ask_put(b"t", idp=b"k").value) is m.Inserted


def test_cooldown_to_its_exact_end() -> None:
    """A deleted job keeps its key for the ttl, and not an instant longer."""
    book = TubeBook()
    job_id = book.put(b"t", idp=b"k", idp_ttl_s=30)
    book.at(1.0).ask(job_id, t.DeleteJob, job_id, 0)
    assert book.at(30.999).ask_put(b"t", idp=b"k").value == t.Duplicate(job_id, None)
    assert type(book.at(31.0).ask_put(b"t", idp=b"k").value) is m.Inserted


def test_draining_before_budget_before_duplicate() -> None:
    """Which refusal wins; a duplicate over budget is refused although it adds nothing."""
    book = TubeBook()
    budget = book.context.budget
    book.put(b"t", b"x" * 100, idp=b"k")
    budget.bytes_max = 700
    over = book.ask_put(b"t", b"x" * 100, idp=b"k").value
    assert over == OverLimitError("the node's jobs take all of --max-jobs-size (700 bytes)")
    book.context.draining = True
    assert type(book.ask_put(b"t", idp=b"k").value) is DrainingError


def test_an_after_job_waits_for_its_group_alone_or_with_a_delay() -> None:
    """Held while the group has a member; behind its delay it looks again."""
    book = TubeBook()
    member = book.put(b"t", grp=b"g")
    held, late = book.put(b"t", aft=b"g"), book.put(b"t", aft=b"g", delay_s=5.0)
    at_once = book.put(b"t", aft=b"unknown")
    assert book.show(b"t").ready == 2
    book.at(6.0).ask(member, t.DeleteJob, member, 0)
    assert {i: book.job(i).view.state for i in (held, late, at_once)} == {
        held: READY,
        late: READY,
        at_once: READY,
    }


def test_a_job_in_and_after_one_group_waits_for_itself() -> None:
    """As in tuber; it is seen, and can be deleted."""
    book = TubeBook()
    job_id = book.put(b"t", grp=b"g", aft=b"g")
    assert book.job(job_id).view.state is DELAYED
    group = book.context.groups.statistics(b"g")
    assert group is not None
    assert (group.waiting, group.cycle) == (1, (b"g",))
    book.ask(job_id, t.DeleteJob, job_id, 0)
    assert book.context.groups.statistics(b"g") is None


def test_the_id_is_the_producer_key() -> None:
    """Of a job put without one: read and deleted under it, but for a buried one."""
    book = TubeBook()
    job_id = book.put(b"t", b"hello")
    key = b"%d" % job_id
    (view,) = book.ask(b"t", m.ReadKey, key).value.jobs
    assert (view.key, view.tail, view.body) == (key, key, b"hello")
    assert book.ask(b"t", m.ReadKey, b"0" + key).value.jobs == ()
    assert book.ask(b"other", m.ReadKey, key).value.jobs == ()
    assert book.ask(b"t", m.DeleteKey, key).value.count == 1
    assert book.ask(b"t", m.DeleteKey, key).value.count == 0
