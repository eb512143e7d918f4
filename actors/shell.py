"""The one loop that runs every core: wait, step, persist, reply, publish.

Trio shell.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from etcdq.actors.effect import Publish, Tell
from etcdq.actors.errors import CoreFault
from etcdq.actors.mailbox import Mailbox
from etcdq.actors.stage import Outcome, Stage

PersistRecords = Callable[[list[Any]], Awaitable[None]]
WriteLog = Callable[[str, str, dict[str, Any]], None]


def log_nowhere(level: str, event: str, fields: dict[str, Any]) -> None:
    """Drop a log line: for nodes inside a test."""


class Shell:
    """A stage, its mailbox and the board it publishes on.

    Args:
        stage: the cores.
        board: topics to values, shared by the node; read by anyone, written only here.
        persist: writes the records of a batch and returns when they are safe. None: memory only.
        log: takes level, event and fields.
    """

    def __init__(
        self,
        stage: Stage,
        board: dict[str, Any],
        *,
        persist: PersistRecords | None = None,
        log: WriteLog = log_nowhere,
    ) -> None:
        self.stage = stage
        self.mailbox: Mailbox[tuple[Any, Any]] = Mailbox()
        stage.home = self.mailbox
        self._board = board
        self._persist = persist
        self._log = log
        self._alarm = trio.CancelScope()
        self._fault: CoreFault | None = None

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve the mailbox until cancelled.

        Raises:
            CoreFault: a core failed; the caller takes the node down.
        """
        task_status.started()
        mailbox = self.mailbox
        while True:
            # One alarm for many waits: a scope around each would cost as much as the wait itself.
            with trio.CancelScope(deadline=self.stage.next_deadline_s()) as self._alarm:
                while True:
                    await mailbox.wait_posted()
                    await self._turn(mailbox)
                    self._set_alarm()
            await self._turn(mailbox)

    def turn_in_place(self, now_s: float) -> bool:
        """Take a turn in the caller's task, if it can be; see `turns.py`.

        A shell with a store takes its turns in its own task, because they have to wait.
        """
        mailbox = self.mailbox
        if self._persist is not None or self._fault is not None:
            return False
        try:
            self._perform(self.stage.run(mailbox.take(), now_s))
        except CoreFault as fault:  # the caller is not to blame: it ends our own task
            self._fault = fault
            mailbox.wake()
        self._set_alarm()
        return True

    def _set_alarm(self) -> None:
        deadline_s = self.stage.next_deadline_s()
        if deadline_s < self._alarm.deadline:
            self._alarm.deadline = deadline_s

    async def _turn(self, mailbox: Mailbox[tuple[Any, Any]]) -> None:
        if self._fault is not None:
            raise self._fault
        outcome = self.stage.run(mailbox.take(), trio.current_time())
        if outcome.persists and self._persist is not None:
            with trio.CancelScope(shield=True):  # a commit is never half waited for
                await self._persist(outcome.persists)
        self._perform(outcome)

    def _perform(self, outcome: Outcome) -> None:
        for reply in outcome.replies:
            reply.to.handle.post(reply)
        for effect in outcome.publications:
            if type(effect) is Tell:
                effect.handle.post(effect.message)
            else:
                assert type(effect) is Publish, f"no shell performs {effect!r}"
                self._board[effect.topic] = effect.value
        for line in outcome.logs:
            self._log(line.level, line.event, line.fields)
