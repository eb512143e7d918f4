"""Turns of a node's shells taken in the task that has work for them.

Trio shell.
"""

from collections.abc import Callable, Sequence
from typing import Any

import trio

from etcdq.actors import limits
from etcdq.actors.mailbox import Mailbox
from etcdq.actors.shell import Shell


class Turns:
    """The shells of a node, for sessions that post to them and wait for their answers.

    A hand-over between tasks is most of what a single call costs. So a session that has read
    something takes the shells' turns itself, and hears the answers, before anybody else runs. What
    others have posted meanwhile takes part; what is for other sessions wakes their tasks.

    Args:
        shells: in the order in which their turns are taken: who tells others comes first.
    """

    def __init__(self, shells: Sequence[Shell]) -> None:
        self._shells = tuple(shells)

    def take(
        self,
        data: bytes,
        mailbox: Mailbox[Any],
        receive: Callable[[bytes, float], None],
        hear: Callable[[float], None],
    ) -> None:
        """Let a session receive, its shells take their turns, and the session hear them.

        Args:
            data: what was read.
            mailbox: the session's.
            receive: takes the data and the time; it may post to the shells.
            hear: takes everything out of `mailbox`, and may post again; is given the time.
        """
        shells = self._shells
        mailbox.hold()
        for shell in shells:
            shell.mailbox.hold()
        try:
            now_s = trio.current_time()
            receive(data, now_s)
            for _ in range(limits.TURNS_IN_PLACE_MAX):
                taken = False
                for shell in shells:
                    if shell.mailbox.posted and shell.turn_in_place(now_s):
                        taken = True
                if not taken:
                    break
                if mailbox.posted:
                    hear(now_s)
        finally:
            for shell in shells:
                shell.mailbox.release()
            mailbox.release()
