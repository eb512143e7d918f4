"""Empty jobs through one worker process: ours in several forms, others in their best one."""

from bench.experiments import Experiment, Extent, Figures
from bench.processes import CELERY, DRAMATIQ, OURS, RQ, WORKER_KINDS, Server
from bench.worker_rates import Framework, Rates, measure

ROWS = {
    "worker-empty": "Empty",
    "worker-batch": "Batch",
    "worker-plain": "Plain",
    "worker-single": "Single",
}
"""Rows, and the consumer of `peers/on_etcdq.py` that each one measures."""
WALL = "-wall"
"""Ends the row of the same jobs by the clock on the wall."""

_JOBS_PER_S = {
    "Empty": 25_000,
    "Batch": 40_000,
    "Plain": 25_000,
    "Single": 4_000,
    DRAMATIQ: 4_000,
    RQ: 1_500,
    CELERY: 1_500,
}
"""About: so many are put for each second of a measurement; what is left of them is thrown away."""
_SECONDS = 2.5  # of the usual extent's 0.8: a worker takes a while until it runs evenly


def _dramatiq(threads: int) -> Framework:
    options = ("--processes", "1", "--threads", str(threads))
    return Framework("dramatiq", "on_dramatiq", ("dramatiq", "on_dramatiq", *options))


def _rq(worker: str) -> Framework:
    options = ("--url", "{broker}", "-w", f"rq.worker.{worker}", "--quiet", "--results-ttl", "0")
    return Framework("rq", "on_rq", ("rq", "worker", *options))


def _celery(pool: str, prefetch: int) -> Framework:
    options = ("--pool", pool, "-c", "1", "--prefetch-multiplier", str(prefetch), "-l", "WARNING")
    # What a single worker needs none of.
    options += ("--without-gossip", "--without-mingle", "--without-heartbeat")
    return Framework("celery", "on_celery", ("celery", "-A", "on_celery", "worker", *options))


PEERS = {
    DRAMATIQ: (_dramatiq(1), _dramatiq(8)),
    RQ: (_rq("SimpleWorker"), _rq("Worker")),
    CELERY: (_celery("solo", 128), _celery("threads", 128)),
}


def _ours(consumer: str) -> Framework:
    command = ("etcdq", "worker", f"on_etcdq:{consumer}", "--addr", "{broker}")
    return Framework("", "on_etcdq", command)


def _rates(framework: Framework, server: Server, extent: Extent, jobs_per_s: int) -> Rates:
    broker = (
        f"127.0.0.1:{server.beanstalk_port}" if server.ours else f"redis://127.0.0.1:{server.port}"
    )
    seconds = extent.seconds * _SECONDS
    jobs = int(jobs_per_s * seconds)
    return measure(framework, broker, server.pid, jobs=jobs, seconds=seconds, pin=extent.pin)


def _figures(row: str, rates: list[Rates]) -> Figures:
    return {
        row: max(each.per_cpu_s for each in rates),
        row + WALL: max(each.jobs_per_s for each in rates),
    }


def _workers(server: Server, extent: Extent) -> Figures:
    figures: Figures = {}
    if server.ours:
        for row, consumer in ROWS.items():
            rates = _rates(_ours(consumer), server, extent, _JOBS_PER_S[consumer])
            figures |= _figures(row, [rates])
        return figures
    rates = [_rates(each, server, extent, _JOBS_PER_S[server.kind]) for each in PEERS[server.kind]]
    for row in ROWS:  # they have one form of an empty task: each of ours is compared with it
        figures |= _figures(row, rates)
    return figures


EXPERIMENTS = (
    Experiment(
        "worker",
        _workers,
        WORKER_KINDS,
        fresh=True,
        rows=tuple(name for row in ROWS for name in (row, row + WALL)),
    ),
)

assert (OURS, *PEERS) == WORKER_KINDS, "the peers of the table are those that are measured"
