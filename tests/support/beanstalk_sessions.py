"""Random sessions: one kind without waits, one in which seconds pass."""

import random
from collections.abc import Callable

from tests.support.beanstalk_odd_lines import LAX, UNKNOWN, WRONG
from tests.support.beanstalk_steps import LARGEST, LAST, TUBES, Command, Kinds, Mixture, Step, put

STEPS = (15, 70)
LONG_S = (60, 100, 86_400, LARGEST)
"""So long that nothing of it comes about while a session without waits is played."""

MOMENTS = 4
MARGIN_S = 1 / (MOMENTS + 1)
"""Between the moment of a step, and anything that an earlier one brings about."""
WHOLE_S = 5

PACKET_BYTES = 60_000
"""A beanstalkd does not read on while a reserve waits: what a packet has left must fit a socket."""


def session(rng: random.Random) -> list[Step]:
    """Return a session without waits: whatever waits in it does so until somebody acts."""
    names = "ABCDE"[: rng.randint(3, 5)]
    mix = Mixture(rng, ("default", *rng.sample(TUBES[1:], 2)))
    mix.kinds = _kinds(mix, delay=lambda: rng.choice(LONG_S), ttr=lambda: rng.choice(LONG_S)) | {
        lambda: Command("reserve", instead="reserve-with-timeout 0"): 5,
        lambda: Command("reserve-with-timeout 0"): 10,
        lambda: Command("reserve-with-timeout 100", instead="reserve-with-timeout 0"): 4,
    }
    steps = [Step(name, "connect") for name in names]
    steps += [_step(mix, rng.choice(names), 0.0) for _ in range(rng.randint(*STEPS))]
    return steps


def timed_session(rng: random.Random) -> list[Step]:
    """Return a session of several seconds.

    Everything that time brings about takes whole seconds, and the steps are at moments whose
    fractions of a second are apart: so none is near anything that an earlier one brings about.
    """
    names = "ABC"
    mix = Mixture(rng, ("default", *rng.sample(TUBES[1:], 1)))
    moments = sorted(rng.randrange(WHOLE_S) + slot * MARGIN_S for slot in range(1, MOMENTS + 1))
    steps = [Step(name, "connect") for name in names]
    ttrs = [3]
    for at_s in moments:
        mix.kinds = _kinds_of_a_moment(mix, ttrs)
        steps += [_step(mix, rng.choice(names), at_s) for _ in range(rng.randint(4, 12))]
    return [*steps, Step("A", "send", (Command("stats"),), at_s=WHOLE_S + 2.0)]


def _step(mix: Mixture, who: str, at_s: float) -> Step:
    rng = mix.rng
    kind = rng.random()
    if kind < 0.04:
        does = rng.choice(["half-close", "close", "connect", "connect"])
        return Step(who, does, at_s=at_s)
    commands = _packet(mix, 1 if kind < 0.85 else rng.randint(2, 6), timed=at_s > 0)
    last = commands[-1]
    cut = 0
    if rng.random() < 0.05 and not at_s and not last.line.startswith(LAST):
        # A beanstalkd numbers a job when it has read the put's line, we when the job is whole: so
        # a packet does not end between the two.
        cut = rng.randint(len(last.body or b"") + 1, last.size)
    return Step(
        who,
        commands=commands,
        pick=rng.randrange(1_000),
        cut=cut,
        pieces=rng.choice([0, 2, 3]) if rng.random() < 0.2 and not at_s else 1,
        at_s=at_s,
    )


def _packet(mix: Mixture, count: int, *, timed: bool) -> tuple[Command, ...]:
    packet: list[Command] = []
    while len(packet) < count and sum(command.size for command in packet) < PACKET_BYTES:
        packet.append(mix.command())
        if packet[-1].line.startswith(LAST) or (timed and packet[-1].may_wait):
            break
    return tuple(packet)


def _kinds_of_a_moment(mix: Mixture, ttrs: list[int]) -> Kinds:
    # Nothing of what happens is due together, for who waits could get either: of each moment one
    # thing is due a second later, and one job of the session has a TTR, with which it is two and
    # three seconds.
    others = [1]

    def seconds(some: list[int]) -> int:
        return some.pop() if some and mix.rng.random() < 0.7 else 100

    def wait() -> Command:
        return Command(f"reserve-with-timeout {seconds(others)}", instead="peek-ready")

    return _kinds(mix, delay=lambda: seconds(others), ttr=lambda: seconds(ttrs)) | {
        lambda: Command("reserve", instead="peek-ready"): 15,
        wait: 15,
    }


def _kinds(mix: Mixture, *, delay: Callable[[], int], ttr: Callable[[], int]) -> Kinds:
    rng, job, priority, tube = mix.rng, mix.job, mix.priority, mix.tube

    def some_delay() -> int:
        return delay() if rng.random() < 0.25 else 0

    return {
        lambda: put(rng, priority(), some_delay(), ttr()): 25,
        lambda: Command(f"reserve-job {job('{any}')}"): 4,
        lambda: Command(f"delete {job('{held}', '{any}')}"): 9,
        lambda: Command(f"release {job('{held}')} {priority()} {some_delay()}"): 6,
        lambda: Command(f"bury {job('{held}')} {priority()}"): 7,
        lambda: Command(f"touch {job('{held}')}"): 3,
        lambda: Command(f"kick {rng.choice([0, 1, 1, 2, 10])}"): 4,
        lambda: Command(f"kick-job {job('{any}')}"): 3,
        lambda: Command(f"use {tube()}"): 6,
        lambda: Command(f"watch {tube()}"): 6,
        lambda: Command(f"ignore {tube()}"): 4,
        lambda: Command(f"peek {job('{any}')}"): 3,
        lambda: Command("peek-" + rng.choice(["ready", "delayed", "buried"])): 5,
        lambda: Command(f"pause-tube {tube()} {rng.choice([0, delay()])}"): 2,
        lambda: Command(f"stats-job {job('{any}', '{held}')}"): 5,
        lambda: Command(f"stats-tube {tube()}"): 5,
        lambda: Command("stats"): 2,
        lambda: Command("list-" + rng.choice(["tubes", "tube-used", "tubes-watched"])): 4,
        lambda: Command(rng.choice([*UNKNOWN, *WRONG, *LAX])): 5,
        lambda: Command(rng.choice(["quit", "quit", "quitx", "quit 1"]), replies=0): 1,
    }
