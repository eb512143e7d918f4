"""One job that is run as a shell command: kept while it runs, settled when it has ended."""

import os
import signal
import sys
from contextlib import suppress

import trio

from etcdq.beanstalk import Client, EtcdqError, Job, NotFoundError, Statistics
from etcdq.cli.beanstalk import answer_due

BACKOFF_MAX_S = 300
_DOUBLINGS_MAX = 10
KILL_S = 5.0
"""What a command that is to end has for it before it is killed."""


class Attempt:
    """One run of a job's body by the shell.

    Args:
        client: holds the job.
        job: reserved.
        figures: the job's statistics.
        tries: after so many it is buried.
    """

    def __init__(self, client: Client, job: Job, figures: Statistics, tries: int) -> None:
        self._client = client
        self._job = job
        self._tries = tries
        self._priority = figures.count("pri")
        self._ttr_s = max(1, figures.count("ttr"))
        self._number = 1 + figures.count("releases") + figures.count("timeouts")
        self._failure: str | None = None
        self._lost: EtcdqError | None = None

    async def run(self) -> None:
        """Run the command, and keep the job meanwhile.

        Cancelled, the command is ended first, with everything it has started.

        Raises:
            EtcdqError: the connection was lost, and the job with it: the command was ended.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep, nursery.cancel_scope)
            self._failure = await _run_command(self._job.body)
            nursery.cancel_scope.cancel()
        if self._lost is not None:
            raise self._lost

    async def settle(self) -> None:
        """Delete, release or bury the job, as the command ended."""
        job_id = self._job.job_id
        try:
            if self._failure is None:
                await self._client.delete(job_id)
            elif self._number < self._tries:
                delay_s = backoff_s(self._number)
                self._say(
                    f"{self._failure}, try {self._number} of {self._tries}: again in {delay_s} s"
                )
                await self._client.release(job_id, priority=self._priority, delay_s=delay_s)
            else:
                self._say(f"{self._failure}, try {self._number} of {self._tries}: buried")
                await self._client.bury(job_id, priority=self._priority)
        except NotFoundError:
            self._say("expired, or was deleted, while its command ran")

    async def _keep(self, running: trio.CancelScope) -> None:
        """Touch the job three times within each time to run."""
        try:
            while True:
                await trio.sleep(self._ttr_s / 3)
                with answer_due(self._client):
                    await self._client.touch(self._job.job_id)
        except NotFoundError:
            return  # told when the command has ended
        except EtcdqError as error:
            self._lost = error
            running.cancel()

    def _say(self, text: str) -> None:
        print(f"etcdq work: job {self._job.job_id} {text}", file=sys.stderr, flush=True)


def backoff_s(number: int) -> int:
    """Return for how long a job is put off that has failed `number` times: 1, 2, 4, ... seconds."""
    delay_s: int = 2 ** min(number - 1, _DOUBLINGS_MAX)
    return min(BACKOFF_MAX_S, delay_s)


async def _run_command(body: bytes) -> str | None:
    """Run a body by the shell; return in words how it failed, None: it did not.

    It has a process group of its own: Ctrl-C on a terminal is for us, and all of it can be ended.
    """
    try:
        done = await trio.run_process(
            os.fsdecode(body), shell=True, check=False, process_group=0, deliver_cancel=_end
        )
    except (OSError, ValueError) as error:  # such as a body with a NUL, or one that is too long
        return f"cannot be run ({error})"
    if done.returncode == 0:
        return None
    if done.returncode < 0:
        return f"failed (signal {-done.returncode})"
    return f"failed (exit code {done.returncode})"


async def _end(process: trio.Process) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        await trio.sleep(KILL_S)
