"""What every test session needs: the seed of random runs, and no silent skips in CI."""

import os
import random
from collections.abc import Generator
from typing import Any

import pytest

SEED = int(os.environ.get("ETCDQ_SEED") or random.SystemRandom().randrange(2**32))


def pytest_report_header() -> str:
    """Print the seed of this session's random runs."""
    return f"etcdq: ETCDQ_SEED={SEED} (set it to replay the random runs)"


@pytest.fixture(scope="session")
def seed() -> int:
    """Return the seed of this session's random runs."""
    return SEED


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, pytest.TestReport]:
    """In CI a test that skips has failed: something it needs was not installed."""
    report: pytest.TestReport = yield
    if report.skipped and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
    return report
