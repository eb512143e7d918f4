"""What `etcdq top` shows, from two looks at the statistics of a server."""

from dataclasses import dataclass

from etcdq.beanstalk import Statistics

RATES = {"PUT/S": "total-jobs", "RES/S": "total-reserves", "DEL/S": "cmd-delete"}
COUNTS = {
    "READY": "current-jobs-ready",
    "RESERVED": "current-jobs-reserved",
    "DELAYED": "current-jobs-delayed",
    "BURIED": "current-jobs-buried",
    "WAIT": "current-waiting",
    "WATCH": "current-watching",
}
TIMES = {
    "P50": "processing-time-p50",
    "P95": "processing-time-p95",
    "P99": "processing-time-p99",
    "QUEUED": "queue-time-ewma",
}
UNKNOWN = "-"
TOTAL = "(all)"


@dataclass(frozen=True, slots=True)
class Sample:
    """One look. `at_s` is on any clock that does not jump, in seconds."""

    at_s: float
    server: Statistics
    tubes: dict[str, Statistics]


@dataclass(frozen=True, slots=True)
class Picture:
    """One frame: a line about the server, and a table of texts, a line for all tubes at its end."""

    headline: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]


def picture_of(address: str, before: Sample | None, now: Sample) -> Picture:
    """Return what is to be seen now. Without a look before there are no rates.

    A column that no tube of this server has a figure for is left out: beanstalkd counts no
    reserves by tube and measures no times.
    """
    rates, counts, times = (_known(each, now.tubes) for each in (RATES, COUNTS, TIMES))
    per_tube = {tube: _rates(tube, rates, before, now) for tube in now.tubes}
    rows = [
        (
            tube,
            *(_rate(rate) for rate in per_tube[tube]),
            *(str(figures.count(field)) for field in counts.values()),
            *(_time(figures, field) for field in times.values()),
        )
        for tube, figures in now.tubes.items()
    ]
    rows.append(
        (
            TOTAL,
            *(
                _rate(_sum([each[place] for each in per_tube.values()]))
                for place in range(len(rates))
            ),
            *(
                str(sum(figures.count(field) for figures in now.tubes.values()))
                for field in counts.values()
            ),
            *("" for _ in times),
        )
    )
    head = ("TUBE", *rates, *counts, *times)
    return Picture(_headline(address, now.server), head, rows)


def _known(fields: dict[str, str], tubes: dict[str, Statistics]) -> dict[str, str]:
    return {
        head: field
        for head, field in fields.items()
        if not tubes or any(field in figures for figures in tubes.values())
    }


def _rates(
    tube: str, fields: dict[str, str], before: Sample | None, now: Sample
) -> list[float | None]:
    """Return how fast the counters of a tube rise; one that fell began anew, as its tube did."""
    if before is None or now.at_s <= before.at_s:
        return [None] * len(fields)
    earlier, later = before.tubes.get(tube, Statistics({})), now.tubes[tube]
    rates: list[float | None] = []
    for field in fields.values():
        was, is_ = earlier.count(field), later.count(field)
        rates.append((is_ - was if is_ >= was else is_) / (now.at_s - before.at_s))
    return rates


def _sum(rates: list[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known else None


def _rate(rate: float | None) -> str:
    if rate is None:
        return UNKNOWN
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}"


def _time(figures: Statistics, field: str) -> str:
    """Return a time in seconds, unless it is of no job yet."""
    measured = figures.count(f"{field.rpartition('-')[0]}-samples")
    return f"{figures.number(field):.3f}" if measured else UNKNOWN


def _headline(address: str, server: Statistics) -> str:
    parts = [
        f"{address}: version {server.text('version')}",
        f"up {_duration(server.count('uptime'))}",
        f"{server.count('current-connections')} connections"
        f" ({server.count('current-producers')} producers,"
        f" {server.count('current-workers')} workers, {server.count('current-waiting')} waiting)",
    ]
    if server.text("draining") == "true":
        parts.append("draining")
    return ", ".join(parts)


def _duration(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days} d {clock}" if days else clock
