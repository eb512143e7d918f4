"""What a node says of itself and its process."""

import os
import resource
import secrets
import time

from etcdq import __version__
from etcdq.server.beanstalk.door import NodeFacts


class Facts:
    """The facts that stand from the start on, and those of the moment.

    Args:
        name: the operator's name for the node.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._node_id = secrets.token_hex(8)
        self._started_s = time.monotonic()
        self._system = os.uname()

    def __call__(self, *, draining: bool) -> NodeFacts:
        """Return the facts now."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return NodeFacts(
            version=__version__,
            name=self._name,
            node_id=self._node_id,
            draining=draining,
            pid=os.getpid(),
            user_s=usage.ru_utime,
            system_s=usage.ru_stime,
            resident_bytes_max=usage.ru_maxrss * 1024,
            uptime_s=time.monotonic() - self._started_s,
            hostname=self._system.nodename,
            os=self._system.version,
            platform=self._system.machine,
            kernel=f"{self._system.sysname} {self._system.release}",
        )
