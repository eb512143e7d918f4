"""The lean loads as a process of their own: `python -m bench.generator LOAD ARGUMENTS`.

A process of its own has its own interpreter lock, its own collector and its own CPU. ARGUMENTS is
a JSON object of the load's keyword arguments, with keys and bodies as text (latin-1); the answer
is a JSON object of figures on the standard output.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from bench import cycle, idle, tube_rates, tube_workers, unary

_BYTES = ("key", "name", "prefix", "put_prefix", "watch")


def _idle(*, watchers: int, template: str, **arguments: Any) -> dict[str, float]:
    return idle.run(keys=[(template % i).encode() for i in range(watchers)], **arguments)


def _client(**arguments: Any) -> dict[str, float]:
    # Imported here: it brings the client library along, which no lean load should wait for.
    from bench import client_rates

    return client_rates.run(**arguments)


_LOADS: dict[str, Callable[..., dict[str, float]]] = {
    "put_fresh": unary.put_fresh,
    "fill": unary.fill,
    "cycle": cycle.run,
    "drain": cycle.drain,
    "idle": _idle,
    "client": _client,
    "tube_rates": tube_rates.rates,
    "tube_backlog": tube_rates.backlog,
    "tube_jobs": tube_workers.hand_over,
    "tube_keyed": tube_workers.keyed,
}


def generate(load: str, pin: str, timeout_s: float = 120, **arguments: Any) -> dict[str, float]:
    """Run a load in a child on the CPUs of the list pin, and return its figures.

    Raises:
        RuntimeError: the load failed; the text is the child's.
    """
    text = {k: v.decode("latin-1") if isinstance(v, bytes) else v for k, v in arguments.items()}
    command = ["taskset", "-c", pin, sys.executable, "-m", "bench.generator", load]
    done = subprocess.run(
        [*command, json.dumps(text)], capture_output=True, text=True, timeout=timeout_s
    )
    if done.returncode:
        raise RuntimeError(f"{load} {text}: {done.stderr.strip()}")
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def main() -> None:
    """Do what the command line asks."""
    load, text = sys.argv[1:]
    arguments = json.loads(text)
    for name in _BYTES:
        if name in arguments:
            arguments[name] = arguments[name].encode("latin-1")
    figures = _LOADS[load](**arguments)
    json.dump(figures, sys.stdout)


if __name__ == "__main__":
    main()
