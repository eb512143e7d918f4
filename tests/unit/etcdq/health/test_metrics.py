"""What Prometheus is told, as Prometheus's own reader reads it."""

from prometheus_client.parser import text_string_to_metric_families

from etcdq.health.metrics import render
from tests.support.health_status import SetStatus


def read(status: SetStatus, now_s: float) -> dict[str, float]:
    """Return the figures by name."""
    text = render(status, now_s).decode()
    families = text_string_to_metric_families(text)
    return {sample.name: sample.value for family in families for sample in family.samples}


def test_every_figure() -> None:
    """States are 0 or 1, sums end on _total, times are in seconds."""
    assert read(SetStatus(), 1.5) == {
        "etcdq_worker_live": 1,
        "etcdq_worker_ready": 1,
        "etcdq_worker_connected": 1,
        "etcdq_worker_heartbeat_age_seconds": 1.5,
        "etcdq_worker_jobs_running": 2,
        "etcdq_worker_done_total": 5,
        "etcdq_worker_given_up_total": 1,
    }


def test_in_an_outage() -> None:
    """Live and not ready are told apart."""
    found = read(SetStatus(kind="scheduler", is_connected=False, counts={}), 0)

    assert found["etcdq_scheduler_live"] == 1
    assert found["etcdq_scheduler_ready"] == found["etcdq_scheduler_connected"] == 0
    assert len(found) == 5
