"""What a process under probes says of itself, set by the test."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class SetStatus:
    """A worker that is well at the moment 0."""

    kind: str = "worker"
    beat_s: float = 0.0
    tasks_down: tuple[str, ...] = ()
    is_connected: bool = True
    is_accepting: bool = True
    jobs_running: int = 2
    counts: Mapping[str, int] = field(default_factory=lambda: {"done": 5, "given_up": 1})
