"""The command `python -m bench`: see README.md beside this file."""

import argparse
import contextlib
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench import experiments, processes, tube_experiments, worker_experiments
from bench.experiments import Experiment, Extent, Figures
from bench.report import Results, busy_generators, table, write_json

_SETTLE_S = 0.1
"""Between two loads: etcd writes its last batch, collectors end what they began."""

_RESULTS = Path(__file__).parent / "results"

_USUAL = (
    *experiments.EXPERIMENTS,
    *tube_experiments.EXPERIMENTS,
    *worker_experiments.EXPERIMENTS,
)
_FULL = (*_USUAL, *experiments.FULL, *tube_experiments.FULL)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = ", ".join(experiment.name for experiment in _FULL)
    parser.add_argument("--quick", action="store_true", help="one short repetition, under 60 s")
    parser.add_argument("--full", action="store_true", help="also 1,000,000 waiting jobs")
    parser.add_argument("--repetitions", type=int, metavar="N", help="odd; 3 if not given")
    parser.add_argument(
        "--only", metavar="ROWS", help=f"comma-separated beginnings of names among: {names}"
    )
    arguments = parser.parse_args()
    arguments.repetitions = arguments.repetitions or (1 if arguments.quick else 3)
    if arguments.repetitions < 1 or arguments.repetitions % 2 == 0:
        parser.error("--repetitions: an odd number, so that the median is a figure that occurred")
    arguments.chosen = _choose(arguments)
    if not arguments.chosen:
        parser.error(f"--only {arguments.only}: no such row among {names}")
    return arguments


def _choose(arguments: argparse.Namespace) -> list[Experiment]:
    if arguments.only is None:
        return list(_FULL if arguments.full else _USUAL)
    beginnings = tuple(filter(None, arguments.only.split(",")))
    return [
        each
        for each in _FULL
        if any(name.startswith(beginnings) for name in (each.name, *each.rows))
    ]


def _extent(quick: bool) -> Extent:
    # The generator keeps to the last CPU; servers go where the scheduler lets them.
    pin = str(max(os.sched_getaffinity(0)))
    if quick:
        return Extent(
            pin,
            seconds=0.4,
            waiting=50_000,
            keyed=5_000,
            probe_calls=1_000,
            client_messages=200,
        )
    return Extent(pin)


class _Servers:
    """The servers of a run: shared ones are started once, when they are first asked for."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._shared: dict[str, processes.Server] = {}
        self._refused: dict[str, str] = {}

    def measure(self, experiment: Experiment, kind: str, extent: Extent) -> Figures:
        """One repetition on a server of this kind. One that does not start is not tried again."""
        if kind in self._refused:
            raise RuntimeError(self._refused[kind])
        if experiment.fresh:
            with processes.started(kind) as server:
                return experiment.measure(server, extent)
        if kind not in self._shared:
            try:
                server = self._stack.enter_context(processes.started(kind))
                _warm_up(server, extent)
                self._shared[kind] = server
            except RuntimeError as error:
                print(error, file=sys.stderr)
                self._refused[kind] = "it did not start, see above"
                raise RuntimeError(self._refused[kind]) from error
        return experiment.measure(self._shared[kind], extent)


def _warm_up(server: processes.Server, extent: Extent) -> None:
    if server.port:
        experiments.warm_up(server, extent)
    if server.beanstalk_port:
        tube_experiments.warm_up(server, extent)


def _run(chosen: list[Experiment], extent: Extent, repetitions: int) -> Results:
    """Measure everything, servers in turns, so that a drift of the machine meets all of them."""
    results = Results()
    with contextlib.ExitStack() as stack:
        servers = _Servers(stack)
        for experiment in chosen:
            for repetition in range(repetitions):
                first = repetition % len(experiment.kinds)
                for kind in experiment.kinds[first:] + experiment.kinds[:first]:
                    print(f"{experiment.name} {repetition + 1}: {kind}", file=sys.stderr)
                    try:
                        results.add(kind, servers.measure(experiment, kind, extent))
                    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                        results.failures.append(f"{experiment.name} on {kind}: {error}")
                    time.sleep(_SETTLE_S)
    return results


def _about(arguments: argparse.Namespace, extent: Extent, seconds: float) -> dict[str, Any]:
    cpus = Path("/proc/cpuinfo").read_text().split("model name\t: ")[1:]
    here = Path(__file__).parent
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=here, capture_output=True, text=True
    )
    etcd = subprocess.run(["etcd", "--version"], capture_output=True, text=True)
    beanstalkd = subprocess.run(["beanstalkd", "-v"], capture_output=True, text=True)
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "took_s": round(seconds),
        "cpu": cpus[0].partition("\n")[0] if cpus else platform.machine(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "etcd": etcd.stdout.partition("\n")[0],
        "beanstalkd": beanstalkd.stdout.strip(),
        "commit": commit.stdout.strip(),
        "repetitions": arguments.repetitions,
        "seconds_each": extent.seconds,
    }


def main() -> int:
    """Run what the command line asks for; 1 if something could not be measured."""
    arguments = _arguments()
    package = processes.missing()
    if package is not None:
        print(f"the bench needs Debian's package {package}", file=sys.stderr)
        return 1
    # A stop from outside unwinds like Ctrl-C does, and takes the servers along.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    extent = _extent(arguments.quick)
    start = time.monotonic()
    try:
        results = _run(arguments.chosen, extent, arguments.repetitions)
    except KeyboardInterrupt:
        return 130
    about = _about(arguments, extent, time.monotonic() - start)
    path = _RESULTS / time.strftime("%Y%m%d-%H%M%S.json")
    write_json(path, results, about)
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    print(table(results))
    for busy in busy_generators(results):
        print(busy)
    for failure in results.failures:
        print(f"not measured: {failure}")
    print(f"every figure: {path}")
    return 1 if results.failures else 0


if __name__ == "__main__":
    sys.exit(main())
