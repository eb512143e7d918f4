"""A worker alone: messages that cross, in orders in which no stage would bring them."""

from typing import Any

from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Reply, Stop, Tell
from etcdq.actors.message import Address
from etcdq.actors.queue import tube_messages as t
from etcdq.actors.queue.context import Numbers, QueueContext
from etcdq.actors.worker import messages as w
from etcdq.actors.worker.core import WorkerCore
from tests.support.playbook import Named, Playbook

SESSION = Address(Named("session"), None)


def alone(**faces: t.Face | None) -> tuple[Playbook, WorkerCore]:
    """Return a worker that watches tubes which show these faces, and its book."""
    context = QueueContext(
        b"node",
        Named("registry"),
        Numbers(1),
        queue=lambda name: Named(name.decode()),
        face=lambda name, now_s: faces.get(name.decode()),
    )
    core = WorkerCore(7, Address(Named("worker"), None), context, lambda: 0.0)
    book = Playbook(core)
    for name in faces:
        book >> w.WatchTube(name.encode())
    book.end_batch()
    return book, core


def told(name: str, message: Any) -> Tell:
    """Return what is told to a queue."""
    return Tell(Named(name), message)


FACE = t.Face((1024, 1), 0, 0.0, 0)
GRANT = t.Grant(1, b"body")


def test_a_job_granted_to_one_that_left_is_given_back() -> None:
    """The grant and the end of the connection crossed."""
    book, core = alone(a=FACE)
    book >> w.Reserve(SESSION)
    claim = told("a", t.Claim(core._address, core._reserver))
    assert book.end_batch() == [claim]
    book >> w.Leave(b"b") >> t.Granted(b"a", (GRANT,))
    assert book.end_batch() == [
        told("a", t.Refer(watching=-1)),
        told("b", t.Refer(using=-1)),
        told("a", t.Abandon(7, (1,))),
        Stop(),
    ]


def test_a_claim_in_vain_is_followed_by_another_look() -> None:
    """At last it waits, everywhere."""
    faces: dict[str, t.Face | None] = {"a": FACE, "b": t.Face((1024, 2), 0, 0.0, 0)}
    book, core = alone(**faces)
    core._context.face = lambda name, now_s: faces[name.decode()]
    book >> w.Reserve(SESSION)
    book << [told("a", t.Claim(core._address, core._reserver, (1024, 2)))]
    faces["a"] = None
    book >> t.Granted(b"a", ())
    book << [told("b", t.Claim(core._address, core._reserver))]
    faces["b"] = None
    wait = t.Wait(core._address, 7)
    book >> t.Granted(b"b", ()) << [told("a", wait), told("b", wait)]


def test_only_who_invited_is_told_that_nothing_was_found() -> None:
    """The others know that it waits."""
    book, core = alone(a=None, b=None)
    book >> w.Reserve(SESSION)
    book.end_batch()
    wait = t.Wait(core._address, 7)
    book >> t.Invite(b"b") << [told("b", wait)]
    book >> t.Invite(b"a") >> t.Invite(b"b") << [told("a", wait), told("b", wait)]


def test_invitations_while_a_claim_is_under_way() -> None:
    """Both are answered for when the claim comes to nothing, and forgotten when it is granted."""
    faces: dict[str, t.Face | None] = {"a": None, "b": None}
    book, core = alone(**faces)
    core._context.face = lambda name, now_s: faces[name.decode()]
    book >> w.Reserve(SESSION)
    book.end_batch()
    faces["a"] = t.Face((1024, 1), 7, 0.0, 0)
    book >> t.Invite(b"a") >> t.Invite(b"b")
    book << [told("a", t.Claim(core._address, core._reserver))]
    faces["a"] = None
    wait = t.Wait(core._address, 7)
    book >> t.Granted(b"a", ()) << [told("a", wait), told("b", wait)]
    faces["b"] = t.Face((1024, 1), 7, 0.0, 0)
    book >> t.Invite(b"b") << [told("b", t.Claim(core._address, core._reserver))]
    book >> t.Granted(b"b", (GRANT,))
    forget = t.Forget(7)
    book << [told("a", forget), told("b", forget), Reply(SESSION, w.Reserved((GRANT,)))]
    book >> t.Invite(b"a") << []


def test_what_others_may_take_is_not_claimed() -> None:
    """A job shown is for who was invited, if somebody was."""
    book, core = alone(a=t.Face((1024, 1), 3, 0.0, 0))
    book >> w.Reserve(SESSION, 0.0) << [Reply(SESSION, w.TimedOut())]
    assert core.next_deadline_s() == NEVER_S


def test_time_that_is_up_while_a_claim_is_under_way() -> None:
    """The claim decides; granted is granted."""
    faces: dict[str, t.Face | None] = {"a": None}
    book, core = alone(**faces)
    core._context.face = lambda name, now_s: faces[name.decode()]
    book >> w.Reserve(SESSION, 1.0)
    book.end_batch()
    book.at(1.0) << [told("worker", w.TimeUp())]
    assert core.next_deadline_s() == NEVER_S
    faces["a"] = t.Face((1024, 1), 7, 0.0, 0)
    book >> t.Invite(b"a") >> w.TimeUp()
    book << [told("a", t.Claim(core._address, core._reserver))]
    book >> t.Granted(b"a", (GRANT,))
    book << [told("a", t.Forget(7)), Reply(SESSION, w.Reserved((GRANT,)))]
    book >> w.TimeUp() << []
