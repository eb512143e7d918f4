"""The table, and the file beside it."""

import json
from pathlib import Path

from bench.processes import BEANSTALKD, CELERY, DRAMATIQ, ETCD, ETCD_NO_FSYNC, OURS
from bench.report import Results, busy_generators, table, write_json
from bench.rows import GENERATOR


def results() -> Results:
    """Three repetitions of a row on two servers, one of a row that only we have."""
    all_of_it = Results()
    for ours, etcd in ((30_000.0, 10_000.0), (90_000.0, 30_000.0), (60_000.0, 20_000.0)):
        all_of_it.add(OURS, {"put-queue-8x8": ours})
        all_of_it.add(ETCD, {"put-queue-8x8": etcd})
    all_of_it.add(OURS, {"waiting-memory": 600.25})
    return all_of_it


def test_the_table_shows_medians_ratios_and_whether_a_target_is_met() -> None:
    """One aligned line a row; what was not measured is a dash."""
    heading, put, memory = table(results()).splitlines()
    assert heading.split("  ", 1)[0] == "row"
    assert " ".join(put.split()) == (
        "put-queue-8x8 puts/s 60,000 20,000 3.00x - - >= 2.5x (aim 4) yes"
    )
    assert " ".join(memory.split()) == "waiting-memory bytes each 600 - - - - <= 512 NO"
    assert heading.index("met") == put.index("yes") == memory.index("NO")
    assert heading.index("etcdq") + len("etcdq") == put.index("60,000") + len("60,000")


def test_beanstalk_rows_have_a_table_of_their_own() -> None:
    """Its ratio is to beanstalkd; the rows of each table stand together."""
    both = results()
    both.add(OURS, {"bs-put-1": 30_000.0, "bs-con-5": 4_000.0})
    both.add(BEANSTALKD, {"bs-put-1": 20_000.0})
    both.add(OURS, {"idle-memory": 42.0})
    etcd, beanstalk = table(both).split("\n\n")
    assert [line.split()[0] for line in etcd.splitlines()] == [
        "row",
        "put-queue-8x8",
        "waiting-memory",
        "idle-memory",
    ]
    heading, put, keys = (" ".join(line.split()) for line in beanstalk.splitlines())
    assert heading == "row unit etcdq beanstalkd ratio target met"
    assert put == "bs-put-1 puts/s 30,000 20,000 1.50x >= 0.5x yes"
    assert keys == "bs-con-5 jobs/s 4,000 - - >= 5,000 NO"


def test_workers_are_judged_by_the_best_of_the_others() -> None:
    """Every one of them has its ratio; the target is of the smallest."""
    workers = Results()
    workers.add(OURS, {"worker-empty": 18_000.0})
    workers.add(DRAMATIQ, {"worker-empty": 3_000.0})
    workers.add(CELERY, {"worker-empty": 4_000.0})
    heading, empty = (" ".join(line.split()) for line in table(workers).splitlines())
    assert heading == "row unit etcdq dramatiq ratio rq ratio celery ratio target met"
    assert empty == "worker-empty jobs/CPU s 18,000 3,000 6.00x - - 4,000 4.50x >= 5x NO"


def test_small_figures_keep_their_fraction() -> None:
    """Two digits after the point below 100."""
    small = Results()
    small.add(OURS, {"idle-memory": 42.119})
    small.add(ETCD_NO_FSYNC, {"idle-memory": 84.2})
    assert " ".join(table(small).split()).endswith("42.12 - - 84.20 0.50x <= 60 yes")


def test_the_file_has_every_single_figure(tmp_path: Path) -> None:
    """Median, all repetitions in their order, the target, failures and what it was made on."""
    measured = results()
    measured.failures.append("cycle-1 on etcd: why")
    path = tmp_path / "new" / "run.json"
    write_json(path, measured, {"cpus": 2})
    document = json.loads(path.read_text())
    assert document["rows"]["put-queue-8x8"] == {
        "unit": "puts/s",
        "target": ">= 2.5x (aim 4)",
        "median": {OURS: 60_000.0, ETCD: 20_000.0},
        "all": {OURS: [30_000.0, 90_000.0, 60_000.0], ETCD: [10_000.0, 30_000.0, 20_000.0]},
    }
    assert document["failures"] == ["cycle-1 on etcd: why"]
    assert document["about"] == {"cpus": 2}


def test_a_generator_without_time_to_spare_is_named() -> None:
    """Its share is no row of the table, and is said only where it may have been the limit."""
    measured = Results()
    measured.add(OURS, {"cycle-512": 40_000.0, "cycle-512" + GENERATOR: 0.95})
    measured.add(ETCD, {"cycle-512": 8_000.0, "cycle-512" + GENERATOR: 0.2})
    assert busy_generators(measured) == [
        "cycle-512 on etcdq: the generator used 95% of its CPU",
    ]
    assert len(table(measured).splitlines()) == 2
