"""A node inside one's own program."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from etcdq.actors.queue.messages import QueueStatistics
from etcdq.server.config import embedded_config
from etcdq.server.daemon import Daemon, open_daemon

_LEVELS = logging.getLevelNamesMapping()
_logger = logging.getLogger("etcdq")


class NodeSettings(TypedDict, total=False):
    """The settings of `etcdq serve`, by the same names; values as on the command line, or plain.

    Durations are seconds or texts like "100ms", sizes bytes or texts like "64m".
    """

    name: str
    listen_client_urls: str | list[str]
    listen_beanstalk: str
    max_job_size: int | str
    beanstalk_dialect: str
    max_request_bytes: int | str
    accept_timeout: float | str
    consumer_credit: int | str
    max_jobs_size: int | str
    max_jobs_per_queue: int | str
    queue_idle: float | str
    queue_prefixes: str | list[str]
    drain_timeout: float | str


@dataclass(frozen=True, slots=True)
class EmbeddedNode:
    """A node that runs in this program. `endpoints` are URLs that any client of ours takes.

    `beanstalk_addresses` are those of its beanstalk door, if it has one: HOST:PORT or unix:PATH.
    """

    endpoints: tuple[str, ...]
    beanstalk_addresses: tuple[str, ...]
    _daemon: Daemon

    @property
    def endpoint(self) -> str:
        """The first of the endpoints."""
        return self.endpoints[0]

    def census(self) -> list[QueueStatistics]:
        """Return the statistics of every queue that lives now."""
        return self._daemon.node.census()


@asynccontextmanager
async def open_node(**settings: Unpack[NodeSettings]) -> AsyncIterator[EmbeddedNode]:
    """Run a node, by default on a free port of 127.0.0.1; drain it when the block ends.

    It has a beanstalk door if `listen_beanstalk` says where, port 0 for a free one.
    Neither environment variables nor files are read. Log lines go to the logger "etcdq".

    Raises:
        ConfigError: a wrong or unknown setting (a ValueError).
        ListenError: an address cannot be bound (an OSError).
    """
    config = embedded_config({"listen_client_urls": "http://127.0.0.1:0", **settings})
    async with open_daemon(config, log=_log) as daemon:
        yield EmbeddedNode(daemon.urls, daemon.beanstalk, daemon)


def _log(level: str, event: str, fields: dict[str, Any]) -> None:
    fields = dict(fields)
    exc_info = fields.pop("exc_info", None)
    shown = "".join(f" {key}={value!r}" for key, value in fields.items())
    _logger.log(_LEVELS[level.upper()], "%s%s", event, shown, exc_info=exc_info)
