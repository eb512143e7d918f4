"""How much of what costs a peer nothing a connection takes: one leaking budget per flood.

Each budget holds a burst and comes back with time; some come back with honest work too. What a
well-behaved client does any number of times (calls that finish) is in no budget at all.
"""

from etcdq.actors import limits
from etcdq.server.etcd.transport.frames import ConnectionFault, ErrorCode


class Budget:
    """A leaking bucket: `spend` until it is full, `earn` and time empty it."""

    __slots__ = ("_level", "_max", "_per_s", "_since_s")

    def __init__(self, burst: float, per_s: float, now_s: float) -> None:
        self._max = burst
        self._per_s = per_s
        self._level = 0.0
        self._since_s = now_s

    def spend(self, now_s: float) -> bool:
        """Take one; False when the budget is exceeded."""
        leaked = self._level - (now_s - self._since_s) * self._per_s
        self._level = max(0.0, leaked) + 1
        self._since_s = now_s
        return self._level <= self._max

    def earn(self, count: float) -> None:
        """Give some back, for honest work."""
        self._level = max(0.0, self._level - count)


class Flood:
    """The budgets of one connection. Every method raises `ConnectionFault` when one is spent."""

    __slots__ = (
        "_activity_at_ping",
        "_activity_at_update",
        "_cancels",
        "_empty",
        "_finished_at_reset",
        "_ignored",
        "_last_ping_s",
        "_resets",
        "_settings",
        "_strikes",
        "_updates",
    )

    def __init__(self, now_s: float) -> None:
        self._resets = Budget(limits.RESETS_MAX, limits.RESETS_PER_S, now_s)
        self._cancels = Budget(limits.CANCELS_MAX, limits.CANCELS_PER_S, now_s)
        self._settings = Budget(limits.SETTINGS_MAX, limits.SETTINGS_PER_S, now_s)
        self._empty = Budget(limits.EMPTY_FRAMES_MAX, limits.EMPTY_FRAMES_PER_S, now_s)
        self._ignored = Budget(limits.IGNORED_FRAMES_MAX, limits.IGNORED_FRAMES_PER_S, now_s)
        self._updates = Budget(limits.WINDOW_UPDATES_MAX, limits.WINDOW_UPDATES_PER_S, now_s)
        self._finished_at_reset = 0
        self._activity_at_update = 0
        self._activity_at_ping = 0
        self._strikes = 0
        self._last_ping_s = float("-inf")

    def reset(self, now_s: float, finished: int) -> None:
        """A young call was reset unanswered, or we had to reset one.

        Args:
            now_s: the shell's clock.
            finished: calls of this connection that ended well, so far.
        """
        self._resets.earn((finished - self._finished_at_reset) / limits.FINISHED_PER_RESET)
        self._finished_at_reset = finished
        _check(self._resets.spend(now_s), "too_many_resets")

    def cancel(self, now_s: float) -> None:
        """An older or answered call was reset, or a call was refused."""
        _check(self._cancels.spend(now_s), "too_many_cancels")

    def settings(self, now_s: float) -> None:
        """A SETTINGS frame came."""
        _check(self._settings.spend(now_s), "too_many_settings")

    def empty(self, now_s: float) -> None:
        """A frame without content came that ends nothing."""
        _check(self._empty.spend(now_s), "too_many_empty_frames")

    def ignored(self, now_s: float) -> None:
        """A frame came that changes nothing."""
        _check(self._ignored.spend(now_s), "too_many_ignored_frames")

    def window_update(self, now_s: float, activity: int) -> None:
        """A WINDOW_UPDATE came.

        Args:
            now_s: the shell's clock.
            activity: HEADERS and DATA frames and whole answers sent so far.
        """
        sent = activity - self._activity_at_update
        self._activity_at_update = activity
        self._updates.earn(sent * limits.WINDOW_UPDATES_PER_ANSWER)
        _check(self._updates.spend(now_s), "too_many_window_updates")

    def ping(self, now_s: float, activity: int) -> None:
        """A PING came. The rule of gRPC servers: too close to the one before is a strike, and
        anything we sent in between forgives all strikes.

        Source: grpc-go internal/transport/http2_server.go, handlePing.
        """
        gap_s = now_s - self._last_ping_s
        self._last_ping_s = now_s
        if activity != self._activity_at_ping:
            self._activity_at_ping = activity
            self._strikes = 0
        elif gap_s < limits.PING_INTERVAL_MIN_S - limits.PING_TOLERANCE_S:
            self._strikes += 1
            _check(self._strikes <= limits.PING_STRIKES_MAX, "too_many_pings")


def _check(within: bool, text: str) -> None:
    if not within:
        raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, text)
