"""Random sessions of several connections on a real beanstalkd and on our node, byte for byte.

What may differ, and what sessions keep away from, is said in `tests/support/beanstalk_differs.py`.
"""

import random
from pathlib import Path

import pytest
import trio

from tests.support.beanstalk_player import Difference, LateError, Play
from tests.support.beanstalk_servers import Beanstalkd, Heard, open_beanstalkd
from tests.support.beanstalk_sessions import MARGIN_S, session, timed_session
from tests.support.beanstalk_shrink import compare, our_node, shrink
from tests.support.beanstalk_steps import Step

SESSIONS = 500
TIMED_SESSIONS = 20
FEW_SESSIONS = 5
ROUNDS = 12
OWN_SESSIONS = 25
SHRINK_S = 60.0

pytestmark = pytest.mark.peer


def steps_of(seed: int, number: int) -> list[Step]:
    """Return the session of that number."""
    return session(random.Random(f"{seed} {number}"))


def test_sessions_without_waits(seed: int, tmp_path: Path) -> None:
    """Every reply of 500 sessions is a beanstalkd's; ETCDQ_SEED replays a failure."""
    replies = 0
    for number in range(SESSIONS):
        steps = steps_of(seed, number)
        try:
            replies += compare(steps, tmp_path)
        except Difference:
            smaller = shrink(steps, tmp_path, limit_s=SHRINK_S)
            pytest.fail(f"ETCDQ_SEED={seed}, session {number}:\n{smaller}", pytrace=False)
    print(f"{SESSIONS} sessions without waits, {replies} replies: no difference")


async def play_at_once(sessions: dict[int, list[Step]], folder: Path) -> dict[int, Exception | int]:
    """Play sessions side by side; return how many replies each had, or why it ended."""
    ends: dict[int, Exception | int] = {}
    all_are_open = trio.Event()
    opened = 0

    async def play(number: int, late_s: float) -> None:
        nonlocal opened
        own = folder / str(number)
        own.mkdir(exist_ok=True)
        with open_beanstalkd(own) as theirs:
            async with our_node() as ours:
                opened += 1
                if opened == len(sessions):
                    all_are_open.set()
                await all_are_open.wait()
                await trio.sleep(late_s)
                one = Play(theirs, ours)
                try:
                    await one.play(sessions[number])
                    ends[number] = one.replies
                except (Difference, LateError) as error:
                    ends[number] = error

    async with trio.open_nursery() as nursery:
        # Their steps are at the same fractions of a second: they begin at different ones.
        for place, number in enumerate(sessions):
            nursery.start_soon(play, number, MARGIN_S * place / len(sessions))
    return ends


def test_sessions_of_seconds(seed: int, tmp_path: Path) -> None:
    """Delays, TTRs, pauses, timeouts and DEADLINE_SOON come as a beanstalkd has them, in 20."""
    left = {
        number: timed_session(random.Random(f"{seed} timed {number}"))
        for number in range(TIMED_SESSIONS)
    }
    replies = 0
    for again in range(ROUNDS):
        # On a machine that is too busy for all at once those that were late come in smaller parts.
        part = dict(list(left.items())[: TIMED_SESSIONS if again == 0 else FEW_SESSIONS])
        for number, end in trio.run(play_at_once, part, tmp_path).items():
            if isinstance(end, Difference):
                pytest.fail(f"ETCDQ_SEED={seed}, timed session {number}:\n{end}", pytrace=False)
            if isinstance(end, int):
                replies += end
                del left[number]
        if not left:
            print(f"{TIMED_SESSIONS} sessions of seconds, {replies} replies: no difference")
            return
    pytest.fail(f"this machine is too slow for {len(left)} of the sessions")


# the comparison itself ----------------------------------------------------------------------


class Forgetful(Beanstalkd):
    """A beanstalkd that answers what it deletes as if it was not there."""

    async def heard(self) -> Heard:
        """Return what it said, falsified."""
        said = await super().heard()
        for replies in said.values():
            replies[:] = [b"NOT_FOUND\r\n" if r == b"DELETED\r\n" else r for r in replies]
        return said


async def play_on_two(seed: int, folder: Path, kind: type[Beanstalkd]) -> None:
    """Play some sessions on two beanstalkds, each time fresh ones."""
    for number in range(OWN_SESSIONS):
        one, two = folder / f"one-{number}", folder / f"two-{number}"
        one.mkdir()
        two.mkdir()
        with open_beanstalkd(one) as theirs, open_beanstalkd(two, kind) as others:
            await Play(theirs, others).play(steps_of(seed, number))


def test_two_beanstalkds_do_not_differ(seed: int, tmp_path: Path) -> None:
    """What sessions compare is the server's doing, not chance."""
    trio.run(play_on_two, seed, tmp_path, Beanstalkd)


def test_a_false_reply_is_a_difference(seed: int, tmp_path: Path) -> None:
    """One false word is found, and the transcript says where."""
    with pytest.raises(Difference, match=r"(?s)< DELETED.*- DELETED\r?\n\+ NOT_FOUND"):
        trio.run(play_on_two, seed, tmp_path, Forgetful)
