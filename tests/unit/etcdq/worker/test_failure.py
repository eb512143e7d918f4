"""What a failed run means for its job."""

import random

import pytest

from etcdq.errors import RemoteProtocolError
from etcdq.worker.failure import History, PermanentError, Rules, read_history, retry_delay_s


def document(**figures: object) -> bytes:
    """Return the statistics of a job as a server writes them."""
    given = {"id": 1, "tube": "t", "state": "reserved", "pri": 7, "ttr": 60, **figures}
    lines = [f"{name}: {value}\n" for name, value in given.items()]
    return ("---\n" + "".join(lines)).encode()


def tries_of(**figures: int) -> tuple[int, int]:
    """Return the tries and the vanished workers of a job with these statistics."""
    history = read_history(document(**figures))
    return history.tries, history.vanished


def test_fresh_job() -> None:
    """A job that is reserved for the first time was never tried."""
    history = read_history(document(reserves=1))

    assert (history.tube, history.priority, history.ttr_s) == ("t", 7, 60)
    assert (history.tries, history.vanished) == (0, 0)


@pytest.mark.parametrize(
    ("figures", "tries", "vanished"),
    [
        ({"reserves": 3, "releases": 2}, 2, 0),  # failed twice
        ({"reserves": 3, "timeouts": 2}, 2, 2),  # two workers froze
        ({"reserves": 3}, 2, 2),  # two workers were killed
        ({"reserves": 4, "releases": 1, "timeouts": 1}, 3, 2),  # one of each
        ({"reserves": 3, "releases": 2, "kicks": 2}, 0, 0),  # two workers were stopped
        ({"reserves": 6, "releases": 4, "buries": 1, "kicks": 1}, 3, 0),  # buried, then kicked
        ({"reserves": 1, "kicks": 1}, 0, 0),  # kicked out of its delay
        ({"reserves": 0}, 0, 0),  # a server that counts otherwise
    ],
)
def test_how_often_it_was_tried(figures: dict[str, int], tries: int, vanished: int) -> None:
    """Failures and vanished workers are tries; a stop is none, and a kick gives one more."""
    assert tries_of(**figures) == (tries, vanished)


def test_name_in_quotes() -> None:
    """A tube's name may be quoted, and lines may end with CRLF."""
    text = document(tube='"mail:1"').replace(b"\n", b"\r\n")

    assert read_history(text) == History("mail:1", 7, 60, 0, 0)


def whole_document(dialect: str, **changed: int) -> bytes:
    """Return the statistics of a job as a server of a dialect writes them, with all its fields."""
    figures: dict[str, object] = {"id": 12, "tube": '"mail:1"' if dialect == "tuber" else "mail"}
    figures |= {"state": "reserved", "pri": 7, "age": 3, "delay": 0, "ttr": 60, "time-left": 59}
    figures |= {"time-reserved": 0} if dialect == "tuber" else {}
    names = ("file", "reserves", "timeouts", "releases", "buries", "kicks")
    figures |= dict.fromkeys(names, 0) | {"reserves": 1} | changed
    figures |= {"idempotency-key": "kicks: 0"} if dialect == "tuber" else {}
    return ("---\n" + "".join(f"{name}: {value}\n" for name, value in figures.items())).encode()


@pytest.mark.parametrize("dialect", ["beanstalkd", "tuber"])
def test_whole_documents(dialect: str) -> None:
    """A job that was tried is told from one that was not, in each server's own form."""
    tube = "mail:1" if dialect == "tuber" else "mail"

    assert read_history(whole_document(dialect)) == History(tube, 7, 60, 0, 0)
    for name, number in (("releases", 1), ("timeouts", 1), ("buries", 1)):
        changed = whole_document(dialect, reserves=2, **{name: number})
        assert read_history(changed).tries == (0 if name == "buries" else 1)
    assert read_history(whole_document(dialect, reserves=2)).vanished == 1
    assert read_history(whole_document(dialect, reserves=3, releases=1, kicks=1)).tries == 1


@pytest.mark.parametrize("text", [b"", b"---\n", document(pri="x")])
def test_what_is_no_document(text: bytes) -> None:
    """It is the server's fault."""
    with pytest.raises(RemoteProtocolError):
        read_history(text)


def test_delays_double_with_jitter(seed: int) -> None:
    """Each try is put off for twice as long, up to the cap, the half of it by chance."""
    rng = random.Random(seed)
    rules = Rules(tries_max=30, retry_base_s=10, retry_cap_s=100)
    for number, bound_s in ((1, 10), (2, 20), (3, 40), (4, 80), (5, 100), (29, 100)):
        delays = [retry_delay_s(ValueError(), number, rules, rng) for _ in range(500)]
        assert {type(delay) for delay in delays} == {int}
        found = [delay for delay in delays if delay is not None]
        assert bound_s / 2 <= min(found) < 0.6 * bound_s
        assert 0.9 * bound_s < max(found) <= bound_s


def test_shortest_delay() -> None:
    """A job is put off for a second at least: without a delay it would be next again."""
    rules = Rules(retry_base_s=1)

    delays = {retry_delay_s(ValueError(), 1, rules, random.Random(n)) for n in range(100)}

    assert delays == {1}


def test_gives_up_after_the_last_try() -> None:
    """The fifth failure is the last one."""
    delays = [retry_delay_s(ValueError(), n, Rules(), random.Random(0)) for n in range(1, 7)]

    assert [delay is None for delay in delays] == [False, False, False, False, True, True]


def test_what_no_retry_can_mend() -> None:
    """It is given up at once: `PermanentError`, and what the consumer says is such an error."""
    rules = Rules(permanent=(KeyError,))

    assert retry_delay_s(PermanentError(), 1, rules, random.Random(0)) is None
    assert retry_delay_s(KeyError(), 1, rules, random.Random(0)) is None
    assert retry_delay_s(LookupError(), 1, rules, random.Random(0)) is not None


@pytest.mark.parametrize("error", [PermanentError(), KeyError()])
def test_what_no_retry_can_mend_in_a_group(error: Exception) -> None:
    """A nursery of the handler raises it in a group, in one of another nursery maybe."""
    rules = Rules(permanent=(KeyError,))
    other = ExceptionGroup("of a nursery", [ValueError()])
    group = ExceptionGroup("of a nursery", [other, ExceptionGroup("of another", [error])])

    assert retry_delay_s(group, 1, rules, random.Random(0)) is None
    assert retry_delay_s(other, 1, rules, random.Random(0)) is not None
