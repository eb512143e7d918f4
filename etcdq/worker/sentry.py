"""What Sentry is told. Nothing here needs `sentry-sdk`: it is an extra, `etcdq[sentry]`."""

import os
import sys
from typing import Final

import structlog

from etcdq.errors import InvalidArgumentError
from etcdq.worker.job import ReservedJob

DSN: Final = "SENTRY_DSN"
"""The environment variable that says where Sentry is, as its SDK has it."""

log = structlog.get_logger("etcdq.worker")


def begin() -> None:
    """Start the SDK where the environment asks for it, unless the application has done so.

    Raises:
        InvalidArgumentError: the variable is no address of Sentry's.
    """
    if not os.environ.get(DSN):
        return
    try:
        import sentry_sdk
    except ImportError:
        log.warning(f"{DSN} is set, but sentry-sdk is not installed: pip install 'etcdq[sentry]'")
        return
    if sentry_sdk.get_client().is_active():
        return
    try:
        sentry_sdk.init()
    except ValueError as error:
        raise InvalidArgumentError(f"{DSN}: {error}") from error


def tell(whose: str, job: ReservedJob, error: BaseException) -> None:
    """Send the error of a job that is given up, if anything in this process has loaded the SDK.

    The job's body is not sent: it is nobody's business there.

    Args:
        whose: the consumer's name.
        job: the job.
        error: of its last try.
    """
    if sys.modules.get("sentry_sdk") is None:
        return
    import sentry_sdk

    with sentry_sdk.new_scope() as scope:
        scope.set_tag("consumer", whose)
        scope.set_tag("tube", job.tube)
        scope.set_tag("job_id", str(job.job_id))
        scope.set_tag("tries", str(job.number))
        sentry_sdk.capture_exception(error)
