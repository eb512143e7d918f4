"""Reading what h2load prints."""

import pytest

from bench.h2load import Result, parse

REPORT = """\
starting benchmark...
Application protocol: h2c
progress: 100% done

finished in 1.21s, 9044.50 req/s, 620.48KB/s
requests: 9044 total, 9050 started, 9044 done, 9041 succeeded, 1 failed, 2 errored, 4 timeout
status codes: 9041 2xx, 0 3xx, 1 4xx, 0 5xx
traffic: 620.48KB (635371) total, 20.99KB (21496) headers (space savings 94.71%), 361KB (370) data
                     min         max         mean         sd        +/- sd
time for request:      179us     26.30ms      6.87ms      3.61ms    77.92%
time for connect:        0us         0us         0us         0us     0.00%
time to 1st byte:        0us         0us         0us         0us     0.00%
req/s           :    1076.90     1183.60     1128.20       31.47    75.00%
"""


def test_reads_rate_counts_and_times_of_requests() -> None:
    """Failed, errored and timed-out calls are one number; all times are microseconds."""
    assert parse(REPORT) == Result(
        calls_per_s=9044.5, succeeded=9041, failed=7, mean_us=6870.0, max_us=26300.0
    )


@pytest.mark.parametrize(
    ("shown", "mean_us"), [("   234us", 234.0), ("  1.50ms", 1500.0), ("   2.25s", 2_250_000.0)]
)
def test_knows_each_unit_of_time(shown: str, mean_us: float) -> None:
    """h2load chooses the unit by the size."""
    assert parse(REPORT.replace("  6.87ms", shown)).mean_us == mean_us


@pytest.mark.parametrize("line", ["finished in", "requests:", "time for request:"])
def test_refuses_what_is_no_whole_report(line: str) -> None:
    """Where a line is missing the text is an error with the output in it, never a figure."""
    cut = "\n".join(each for each in REPORT.splitlines() if not each.startswith(line))
    with pytest.raises(ValueError, match="starting benchmark"):
        parse(cut)
