"""`/live`, `/ready` and `/metrics` of a worker or a scheduler, answered by a thread of its own.

So a probe is answered while the process's loop is blocked, and can say so; and no probe asks the
queue's server, so an outage of that one restarts nobody.
"""

from etcdq.health.pulse import Pulse as Pulse
from etcdq.health.server import HealthServer as HealthServer
from etcdq.health.server import open_health as open_health
from etcdq.health.status import Status as Status
