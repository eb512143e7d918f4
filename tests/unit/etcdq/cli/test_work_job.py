"""How long a failed job is put off."""

from etcdq.cli.work_job import BACKOFF_MAX_S, backoff_s


def test_backoff() -> None:
    """It doubles from a second on, up to a bound, however often the job has failed."""
    assert [backoff_s(number) for number in (1, 2, 3, 9, 10)] == [1, 2, 4, 256, BACKOFF_MAX_S]
    assert backoff_s(10**6) == BACKOFF_MAX_S
