"""h2load (Debian: nghttp2-client): run it, read what it prints."""

import re
import subprocess
import tempfile
from dataclasses import dataclass

from bench import frames

_TIME_UNITS_US = {"us": 1.0, "ms": 1e3, "s": 1e6}


@dataclass(frozen=True, slots=True)
class Result:
    """One run. Times in microseconds."""

    calls_per_s: float
    succeeded: int
    failed: int
    mean_us: float
    max_us: float


def parse(output: str) -> Result:
    """Read h2load's report.

    Raises:
        ValueError: the text is no report of a finished run.
    """
    rate = re.search(r"^finished in [^,]+, ([\d.]+) req/s", output, re.MULTILINE)
    counts = re.search(
        r"^requests: .* (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout",
        output,
        re.MULTILINE,
    )
    time = r"([\d.]+)(us|ms|s)\s+"
    times = re.search(rf"^time for request:\s+{time}{time}{time}", output, re.MULTILINE)
    if not rate or not counts or not times:
        raise ValueError(f"not a report of h2load:\n{output}")
    _, _, most, most_unit, mean, mean_unit = times.groups()
    succeeded, *bad = (int(text) for text in counts.groups())
    return Result(
        calls_per_s=float(rate[1]),
        succeeded=succeeded,
        failed=sum(bad),
        mean_us=float(mean) * _TIME_UNITS_US[mean_unit],
        max_us=float(most) * _TIME_UNITS_US[most_unit],
    )


def run(
    port: int, path: str, body: bytes, *, connections: int, streams: int, seconds: float, pin: str
) -> Result:
    """Call path with body for so many seconds (after 0.2 s of warm-up), `pin` a CPU list.

    Raises:
        RuntimeError: h2load failed, or a call did not end with HTTP status 2xx.
    """
    with tempfile.NamedTemporaryFile(prefix="etcdq-bench-") as file:
        file.write(frames.message(body))
        file.flush()
        command = ["taskset", "-c", pin, "h2load", "-c", str(connections), "-m", str(streams)]
        command += ["--warm-up-time=200ms", f"--duration={round(seconds * 1000)}ms"]
        command += ["-H", "content-type: application/grpc", "-H", "te: trailers"]
        command += ["-d", file.name, f"http://127.0.0.1:{port}{path}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 30)
    if done.returncode:
        raise RuntimeError(f"h2load failed: {done.stderr or done.stdout}")
    result = parse(done.stdout)
    if result.failed or not result.succeeded:
        raise RuntimeError(f"calls failed:\n{done.stdout}")
    return result
