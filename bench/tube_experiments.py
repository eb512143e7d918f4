"""What is done to the beanstalk door of a server to get the figures of some rows."""

from bench.experiments import Experiment, Extent, Figures, new_name
from bench.generator import generate
from bench.processes import BEANSTALK_KINDS, OURS, Server
from bench.rows import GENERATOR

_PRODUCERS = 25
_CONSUMERS = 25
_KEYS = 5
_KEYED_WORKERS = 16
_BATCH = 1_000
_MILLION = 1_000_000


def warm_up(server: Server, extent: Extent) -> None:
    """Let the server load and allocate what it needs for any load at all."""
    _rates(server, extent, depth=100, seconds=0.1)


def _rates(server: Server, extent: Extent, **arguments: float) -> Figures:
    return _generate("tube_rates", server, extent, **{"seconds": extent.seconds, **arguments})


def _generate(load: str, server: Server, extent: Extent, **arguments: float) -> Figures:
    # A tube of its own: it goes with the load's connections, whatever was left in it.
    return generate(
        load, extent.pin, port=server.beanstalk_port, name=new_name().encode(), **arguments
    )


def _one_connection(depth: int) -> Experiment:
    """So many puts, reserves or deletes in one write, and the next when all are answered."""
    put, take = f"bs-put-{depth}", f"bs-take-{depth}"

    def measure(server: Server, extent: Extent) -> Figures:
        figures = _rates(server, extent, depth=depth)
        return {
            put: figures["put_per_s"],
            put + GENERATOR: figures["put_generator_cpu"],
            take: figures["take_per_s"],
            take + GENERATOR: figures["take_generator_cpu"],
        }

    return Experiment(f"bs-{depth}", measure, BEANSTALK_KINDS, rows=(put, take))


def _batch(server: Server, extent: Extent) -> Figures:
    figures = _rates(server, extent, depth=_BATCH, batches=server.ours)
    return {
        "bs-batch-1000": figures["take_per_s"],
        "bs-batch-1000" + GENERATOR: figures["take_generator_cpu"],
    }


def _jobs(server: Server, extent: Extent) -> Figures:
    figures = _generate(
        "tube_jobs",
        server,
        extent,
        producers=_PRODUCERS,
        workers=_CONSUMERS,
        seconds=extent.seconds,
    )
    return {
        "bs-jobs-50": figures["jobs_per_s"],
        "bs-jobs-50" + GENERATOR: figures["generator_cpu"],
    }


def _keyed(server: Server, extent: Extent) -> Figures:
    figures = _generate(
        "tube_keyed",
        server,
        extent,
        keys=_KEYS,
        workers=_KEYED_WORKERS,
        jobs=extent.keyed,
    )
    return {"bs-con-5": figures["jobs_per_s"], "bs-con-5" + GENERATOR: figures["generator_cpu"]}


def _million(server: Server, extent: Extent) -> Figures:
    figures = _generate("tube_backlog", server, extent, jobs=_MILLION, seconds=extent.seconds)
    rows: Figures = {}
    for work in ("put", "take"):
        before, after = (figures[f"{work}_per_s_{when}"] for when in ("before", "after"))
        rows[f"bs-million-{work}-before"] = before
        rows[f"bs-million-{work}-after"] = after
        rows[f"bs-million-{work}"] = after / before
    return rows


EXPERIMENTS = (
    _one_connection(1),
    _one_connection(100),
    Experiment("bs-jobs-50", _jobs, BEANSTALK_KINDS),
    Experiment("bs-batch-1000", _batch, BEANSTALK_KINDS),
    Experiment("bs-con-5", _keyed, kinds=(OURS,)),
)

FULL = (Experiment("bs-million", _million, kinds=(OURS,), fresh=True),)
