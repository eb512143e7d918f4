"""How a worker is watched from outside."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.worker_rates import Framework, _tree_cpu_s, measure

SPIN = "import time\nwhile time.process_time() < 0.3: pass\n"


def test_environment_that_is_not_there() -> None:
    """What gets it is named."""
    with pytest.raises(RuntimeError, match="scripts/bench_peers"):
        Framework("no_such_peer", "x", ()).path("python")


def test_cpu_of_those_that_have_ended() -> None:
    """It counts with the process that waited for them."""
    before_s = _tree_cpu_s(os.getpid())
    subprocess.run([sys.executable, "-c", SPIN], check=True)

    assert _tree_cpu_s(os.getpid()) - before_s > 0.25


def test_cpu_of_those_that_run() -> None:
    """A parent that only waits has the time of its children."""
    child = SPIN + "print('spun', flush=True)\ninput()\n"
    code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])"
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        assert parent.stdout.readline() == "spun\n"
        used_s = _tree_cpu_s(parent.pid)
        parent.stdin.write("\n")

    assert used_s > 0.25


def test_worker_that_does_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One that ends by itself is told with what it said last."""
    (tmp_path / "no_jobs.py").write_text("")
    monkeypatch.setattr("bench.worker_rates._PEERS", tmp_path)
    framework = Framework("", "no_jobs", ("python", "-c", "print('no such broker: {broker}')"))
    pin = str(max(os.sched_getaffinity(0)))

    with pytest.raises(RuntimeError, match="no such broker: here"):
        measure(framework, "here", os.getpid(), jobs=10, seconds=1, pin=pin)
