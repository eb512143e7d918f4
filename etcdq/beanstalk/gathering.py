"""Which reserves follow a reserve, to gather what is ready. Without I/O."""

from typing import Final

from etcdq.beanstalk.commands import line
from etcdq.beanstalk.replies import BATCH_MAX, Reply

_UNKNOWN_WORDS: Final = frozenset({"UNKNOWN_COMMAND", "BAD_FORMAT"})
_ONE_MORE: Final = b"reserve-with-timeout 0\r\n"


class Gathering:
    """Kept as long as its connection: what the server does not know is asked for once.

    A server of tuber's dialect is asked for all that is ready at once, a beanstalkd one by one.
    """

    def __init__(self) -> None:
        self.knows_batches = True  # until it says otherwise

    def next_command(self, count: int, replies: list[Reply]) -> bytes | None:
        """Return what to send after these replies, the first of them to a reserve; None: nothing.

        Args:
            count: how many jobs are wanted in all.
            replies: all so far, the newest last.
        """
        last = replies[-1]
        if last.word in _UNKNOWN_WORDS and len(replies) > 1:
            self.knows_batches = False
        elif last.word != "RESERVED":
            return None  # nothing is ready, or that was a batch, hence all there was
        wanted = count - sum(len(reply.jobs) for reply in replies)
        if wanted < 1:
            return None
        if self.knows_batches:
            return line("reserve-batch", min(wanted, BATCH_MAX))
        return _ONE_MORE
