"""Tell systemd how the node does: sd_notify in a few lines.

Trio shell.
"""

import os
import socket

import trio


def notify(*states: str) -> bool:
    """Send states such as `READY=1` to the service manager; without one, do nothing.

    Returns:
        Whether the datagram was sent. A manager that is not there is no error of ours.

    Source: sd_notify(3); a path that begins with "@" is an abstract name.
    """
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path.startswith(("/", "@")):
        return False
    address = "\0" + path[1:] if path.startswith("@") else path
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager:
        manager.setblocking(False)
        try:
            manager.sendto("\n".join(states).encode(), address)
        except OSError:
            return False
    return True


def watchdog_period_s() -> float | None:
    """Return how often the manager wants to hear of us (half of its limit), None for never.

    Source: sd_watchdog_enabled(3).
    """
    limit_us = os.environ.get("WATCHDOG_USEC", "")
    process = os.environ.get("WATCHDOG_PID", "")
    if not limit_us.isdecimal() or int(limit_us) == 0 or process not in ("", str(os.getpid())):
        return None
    return int(limit_us) / 2_000_000


async def feed_watchdog() -> None:
    """Tell the manager, as often as it wants, that the node's loop turns; for ever."""
    period_s = watchdog_period_s()
    if period_s is None:
        return
    while True:
        notify("WATCHDOG=1")
        await trio.sleep(period_s)
