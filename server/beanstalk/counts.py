"""What the door counts: commands by name, and connections by what they did.

One object per node, which its sessions count up in place; the `stats` document reads it.
"""

from dataclasses import dataclass, field

COMMANDS = (
    "put",
    "peek",
    "peek-ready",
    "peek-delayed",
    "peek-buried",
    "peek-reserved",
    "reserve",
    "reserve-with-timeout",
    "reserve-job",
    "reserve-batch",
    "delete",
    "delete-batch",
    "release",
    "use",
    "watch",
    "ignore",
    "bury",
    "kick",
    "kick-job",
    "touch",
    "stats",
    "stats-job",
    "stats-tube",
    "stats-group",
    "list-tubes",
    "list-tube-used",
    "list-tubes-watched",
    "pause-tube",
    "flush-tube",
    "reserve-mode",
    "drain",
    "undrain",
    "quit",
)
"""Every command; those of the `stats` document in its order."""


@dataclass(slots=True)
class CommandCounts:
    """How often each command was given, and by how many connections.

    A command counts when its numbers and names are right, whatever it is answered then: also a put
    whose body is too big. As in tuber, a `reserve-batch` counts as `reserve` too, a `stats-group`
    as `stats`, and each id of a `delete-batch` as `delete`.
    """

    given: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COMMANDS, 0))
    connections: int = 0
    """Open ones."""
    producers: int = 0
    """Open ones that have put a job."""
    workers: int = 0
    """Open ones that have asked for a job."""
    connections_total: int = 0
