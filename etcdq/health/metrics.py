"""What a process tells Prometheus, in its text format."""

from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from etcdq.health.status import Status, report

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4


class _Figures(Collector):
    def __init__(self, status: Status, now_s: float) -> None:
        self._status = status
        self._now_s = now_s

    def collect(self) -> Iterator[Metric]:
        status = self._status
        found = report(status, self._now_s)
        name = f"etcdq_{status.kind}"
        for suffix, text, value in (
            ("live", "1 while the loop turns and its tasks run.", found.live),
            ("ready", "1 while it is live, connected and takes work.", found.ready),
            ("connected", "1 while it is connected to its server.", status.is_connected),
            ("heartbeat_age_seconds", "Since the loop last turned.", found.heartbeat_age_s),
            ("jobs_running", "Jobs that run now.", found.jobs_running),
        ):
            yield GaugeMetricFamily(f"{name}_{suffix}", text, value=float(value))
        for word, count in tuple(status.counts.items()):
            yield CounterMetricFamily(f"{name}_{word}", "Since its start.", value=count)


def render(status: Status, now_s: float) -> bytes:
    """Return all figures of a process: `etcdq_worker_done_total 5`, and so on.

    Args:
        status: of the process.
        now_s: on `time.monotonic`.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures(status, now_s))
    return generate_latest(registry)
