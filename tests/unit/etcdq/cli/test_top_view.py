"""What `etcdq top` shows of two looks."""

import pytest

from etcdq.beanstalk import Statistics
from etcdq.cli.top_view import TOTAL, Sample, picture_of


def server(**figures: int | str) -> Statistics:
    """Return statistics of a server."""
    named = {name.replace("_", "-"): value for name, value in figures.items()}
    return Statistics({"version": "1.12", "uptime": 0, **named})


def tube(total: int, deletes: int = 0, **figures: float) -> Statistics:
    """Return statistics of a tube."""
    named = {name.replace("_", "-"): value for name, value in figures.items()}
    return Statistics({"total-jobs": total, "cmd-delete": deletes, **named})


def look(at_s: float, **tubes: Statistics) -> Sample:
    """Return a look at tubes."""
    return Sample(at_s, server(), tubes)


def test_first_look_has_no_rates() -> None:
    """Rates take a second look; what no tube has a figure for is no column."""
    picture = picture_of("h:1", None, look(5.0, a=tube(3)))

    assert picture.head[:3] == ("TUBE", "PUT/S", "DEL/S")
    assert picture.head[3:] == ()
    assert picture.rows == [("a", "-", "-"), (TOTAL, "-", "-")]


def test_rates() -> None:
    """A rate is what a counter rose by, by the time between; a new tube rose from nothing."""
    before = look(1.0, a=tube(10, 1), gone=tube(99))
    now = look(3.0, a=tube(40, 2), b=tube(1))

    rows = picture_of("h:1", before, now).rows

    assert rows == [("a", "15", "0.5"), ("b", "0.5", "0.0"), (TOTAL, "16", "0.5")]


def test_a_tube_that_began_anew() -> None:
    """A counter that fell is that of a new tube of the same name: no rate is negative."""
    rows = picture_of("h:1", look(0.0, a=tube(100, 100)), look(1.0, a=tube(2, 1))).rows

    assert rows[0] == ("a", "2.0", "1.0")


def test_figures_of_a_server_that_has_them() -> None:
    """Reserves and times are shown where one tube has them; counts are summed, times are not."""
    counts = {"current_jobs_ready": 2, "current_jobs_reserved": 1, "current_jobs_delayed": 0,
              "current_jobs_buried": 3, "current_waiting": 4, "current_watching": 5}  # fmt: skip
    times = {"processing_time_p50": 0.5, "processing_time_p95": 1.25, "processing_time_p99": 2.0,
             "queue_time_ewma": 0.0004, "processing_time_samples": 3,
             "queue_time_samples": 1}  # fmt: skip
    full = tube(1, 0, total_reserves=7, **counts, **times)
    idle = tube(0, 0, total_reserves=0, **dict.fromkeys(counts, 1), **dict.fromkeys(times, 0.0))

    picture = picture_of("h:1", look(0.0), look(1.0, a=full, b=idle))

    assert picture.head == (
        "TUBE", "PUT/S", "RES/S", "DEL/S",
        "READY", "RESERVED", "DELAYED", "BURIED", "WAIT", "WATCH",
        "P50", "P95", "P99", "QUEUED",
    )  # fmt: skip
    assert picture.rows[0][1:10] == ("1.0", "7.0", "0.0", "2", "1", "0", "3", "4", "5")
    assert picture.rows[0][10:] == ("0.500", "1.250", "2.000", "0.000")
    assert picture.rows[1][10:] == ("-", "-", "-", "-")
    assert picture.rows[2] == (
        TOTAL, "1.0", "7.0", "0.0", "3", "2", "1", "4", "5", "6", "", "", "", "",
    )  # fmt: skip


def test_no_tubes() -> None:
    """A server without a tube is a picture too, as wide as any."""
    picture = picture_of("h:1", None, look(0.0))

    assert len(picture.head) == 14
    assert picture.rows == [(TOTAL, "-", "-", "-", *("0" * 6), "", "", "", "")]


@pytest.mark.parametrize(
    ("uptime", "shown"),
    [(0, "00:00:00"), (3661, "01:01:01"), (86_399, "23:59:59"), (180_000, "2 d 02:00:00")],
)
def test_headline(uptime: int, shown: str) -> None:
    """Who answers, since when, and who is connected."""
    figures = server(
        uptime=uptime,
        current_connections=5,
        current_producers=1,
        current_workers=3,
        current_waiting=2,
        draining="true",
    )

    headline = picture_of("h:1", None, Sample(0.0, figures, {})).headline

    connections = "5 connections (1 producers, 3 workers, 2 waiting)"
    assert headline == f"h:1: version 1.12, up {shown}, {connections}, draining"
