"""The one table from errors of the domain to what a beanstalk client is told: a word.

Only what a queue or a worker can answer stands here. Any other error is our bug, and its client is
told so.
"""

from typing import Final

from etcdq.actors.errors import (
    DrainingError,
    EtcdqError,
    NoSuchJobError,
    NoSuchQueueError,
    OverLimitError,
)
from etcdq.server.beanstalk import replies

REPLIES: Final[dict[type[EtcdqError], bytes]] = {
    NoSuchJobError: replies.NOT_FOUND,
    NoSuchQueueError: replies.NOT_FOUND,
    OverLimitError: replies.OUT_OF_MEMORY,
    DrainingError: replies.DRAINING,
}


def reply_of(error: EtcdqError) -> bytes:
    """Return the line that answers a command which failed with `error`."""
    return REPLIES.get(type(error), replies.INTERNAL_ERROR)
