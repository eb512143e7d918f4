"""What the scheduler asks of a server, on one connection."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import trio

from etcdq.beanstalk import Client
from etcdq.errors import DeadlineExceededError, NotFoundError, UnsupportedError
from etcdq.schedule import jobs
from etcdq.schedule.agenda import Note, Outcome, Run, Turn
from etcdq.schedule.entry import Entry
from etcdq.schedule.jobs import RunState
from etcdq.schedule.slots import slot_text

ANSWER_S: Final = 10.0
"""How long the server may take for the job of a slot."""


class Desk:
    """Puts the jobs of slots, and looks after those of earlier ones.

    Args:
        client: of a new connection.
        answer_s: how long the server may take for the job of a slot.
    """

    def __init__(self, client: Client, answer_s: float = ANSWER_S) -> None:
        self.knows_tags = False
        self._answer_s = answer_s
        self._client = client
        self._used = "default"

    @contextmanager
    def answer_due(self) -> Iterator[None]:
        """Let what is awaited in this block take no longer than a server may.

        Raises:
            DeadlineExceededError: it did.
        """
        try:
            with trio.fail_after(self._answer_s):
                yield
        except trio.TooSlowError as error:
            text = f"no answer from {self._client.address} within {self._answer_s:g} s"
            raise DeadlineExceededError(text) from error

    async def ask_for_tags(self) -> None:
        """Find out whether the server knows keys."""
        try:
            await self._client.stats_group("default")
        except NotFoundError:
            pass  # it knows what a group is
        except UnsupportedError:
            return
        self.knows_tags = True

    def decides(self, entry: Entry) -> bool:
        """Say whether the server itself decides by the entry's key what overlaps."""
        return entry.idp is not None and self.knows_tags

    async def put(self, turn: Turn) -> tuple[Note, Run | None]:
        """Put the job of a slot, and return what to tell, and the job that the slot has."""
        entry, slot = turn.entry, slot_text(turn.slot_s)
        if entry.tube != self._used:
            await self._client.use(entry.tube)
            self._used = entry.tube
        options = jobs.options(entry, turn.slot_s, tags=self.knows_tags)
        body = jobs.body(entry, turn.slot_s, late=turn.late)
        inserted = await self._client.put(body, **options)
        job = f"job {inserted.job_id}"
        if inserted.state is None:
            outcome = Outcome.LATE if turn.late else Outcome.PUT
            text = f"{entry.name}: {slot} is {job}{', late' if turn.late else ''}"
        elif entry.idp is None:
            outcome = Outcome.DUPLICATE
            text = f"{entry.name}: {slot} is {job} already"
        else:
            outcome = Outcome.SKIPPED
            text = f"{entry.name}: {slot} is skipped, {job} ({inserted.state}) has {entry.idp}"
        is_there = inserted.state != "DELETED" and not self.decides(entry)
        run = Run(inserted.job_id, turn.slot_s) if is_there else None
        return Note(text, entry.name, outcome), run

    async def find(self, entry: Entry, run: Run) -> RunState:
        """Return where the job of a run is now."""
        try:
            figures = await self._client.stats_job(run.job_id)
            job = await self._client.peek(run.job_id)
        except NotFoundError:
            return RunState.GONE
        if figures.text("tube") != entry.tube or not jobs.is_of_slot(job.body, run.slot_s):
            return RunState.GONE  # the server began anew, and this is another job
        return jobs.state_of(figures.text("state"))
