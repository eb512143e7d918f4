"""What a beanstalk client can ask, as values, and what the parser answers by itself.

Each command names itself in `name`, by which the door counts it; what a name adds to which number
of `stats` is decided there. Numbers are checked: ids and sizes are u64 and u32, times are whole
seconds, names are valid tube names. Sources: beanstalkd doc/protocol.txt, tuber docs/protocol.md.
"""

from typing import ClassVar

import msgspec

from etcdq.actors.queue.messages import JobState, Tags
from etcdq.actors.worker.messages import ReserveMode as Mode


class Command(msgspec.Struct, frozen=True, gc=False):
    """Base of all commands."""

    name: ClassVar[str]


class Refused(msgspec.Struct, frozen=True, gc=False):
    """A line, or a put with its body, that is no command: `reply` takes its place in the output.

    `counted` names the command that counts as given all the same; "" if none does. `put_id_spent`:
    a job id was given to the put before its body turned out wrong, and nobody else gets that id.
    """

    reply: bytes
    counted: str = ""
    put_id_spent: bool = False


class Close(msgspec.Struct, frozen=True, gc=False):
    """The connection is to be closed once everything before is answered; the parser is done."""


# producing ----------------------------------------------------------------------------------


class Put(Command, frozen=True, gc=False):
    """`put <pri> <delay> <ttr> <bytes> [tags]`. A `ttr_s` of 0 was made 1; no tags are None."""

    name: ClassVar[str] = "put"
    priority: int
    delay_s: int
    ttr_s: int
    body: bytes
    tags: Tags | None = None


class Use(Command, frozen=True, gc=False):
    """`use <tube>`."""

    name: ClassVar[str] = "use"
    tube: bytes


# consuming ----------------------------------------------------------------------------------


class Reserve(Command, frozen=True, gc=False):
    """`reserve`: wait for ever."""

    name: ClassVar[str] = "reserve"
    timeout_s: ClassVar[None] = None


class ReserveWithTimeout(Command, frozen=True, gc=False):
    """`reserve-with-timeout <seconds>`."""

    name: ClassVar[str] = "reserve-with-timeout"
    timeout_s: int


class ReserveJob(Command, frozen=True, gc=False):
    """`reserve-job <id>`."""

    name: ClassVar[str] = "reserve-job"
    job_id: int


class ReserveBatch(Command, frozen=True, gc=False):
    """`reserve-batch <count>`, tuber: 1 to `BATCH_JOBS_MAX`."""

    name: ClassVar[str] = "reserve-batch"
    count: int


class ReserveMode(Command, frozen=True, gc=False):
    """`reserve-mode <mode>`, tuber. `word` is how the client spelled it: the reply repeats it."""

    name: ClassVar[str] = "reserve-mode"
    mode: Mode
    word: bytes


class Delete(Command, frozen=True, gc=False):
    """`delete <id>`."""

    name: ClassVar[str] = "delete"
    job_id: int


class DeleteBatch(Command, frozen=True, gc=False):
    """`delete-batch <id> ...`, tuber: 1 to `BATCH_JOBS_MAX` ids, as they came."""

    name: ClassVar[str] = "delete-batch"
    job_ids: tuple[int, ...]


class Release(Command, frozen=True, gc=False):
    """`release <id> <pri> <delay>`."""

    name: ClassVar[str] = "release"
    job_id: int
    priority: int
    delay_s: int


class Bury(Command, frozen=True, gc=False):
    """`bury <id> <pri>`."""

    name: ClassVar[str] = "bury"
    job_id: int
    priority: int


class Touch(Command, frozen=True, gc=False):
    """`touch <id>`."""

    name: ClassVar[str] = "touch"
    job_id: int


class Watch(Command, frozen=True, gc=False):
    """`watch <tube> [weight]`; the weight is tuber's."""

    name: ClassVar[str] = "watch"
    tube: bytes
    weight: int = 1


class Ignore(Command, frozen=True, gc=False):
    """`ignore <tube>`."""

    name: ClassVar[str] = "ignore"
    tube: bytes


# looking and the rest -----------------------------------------------------------------------


class Peek(Command, frozen=True, gc=False):
    """`peek <id>`."""

    name: ClassVar[str] = "peek"
    job_id: int


class PeekReady(Command, frozen=True, gc=False):
    """`peek-ready`."""

    name: ClassVar[str] = "peek-ready"
    state: ClassVar[JobState] = JobState.READY


class PeekDelayed(Command, frozen=True, gc=False):
    """`peek-delayed`."""

    name: ClassVar[str] = "peek-delayed"
    state: ClassVar[JobState] = JobState.DELAYED


class PeekBuried(Command, frozen=True, gc=False):
    """`peek-buried`."""

    name: ClassVar[str] = "peek-buried"
    state: ClassVar[JobState] = JobState.BURIED


class PeekReserved(Command, frozen=True, gc=False):
    """`peek-reserved`, tuber."""

    name: ClassVar[str] = "peek-reserved"
    state: ClassVar[JobState] = JobState.RESERVED


class Kick(Command, frozen=True, gc=False):
    """`kick <bound>`."""

    name: ClassVar[str] = "kick"
    bound: int


class KickJob(Command, frozen=True, gc=False):
    """`kick-job <id>`."""

    name: ClassVar[str] = "kick-job"
    job_id: int


class Stats(Command, frozen=True, gc=False):
    """`stats`."""

    name: ClassVar[str] = "stats"


class StatsJob(Command, frozen=True, gc=False):
    """`stats-job <id>`."""

    name: ClassVar[str] = "stats-job"
    job_id: int


class StatsTube(Command, frozen=True, gc=False):
    """`stats-tube <tube>`."""

    name: ClassVar[str] = "stats-tube"
    tube: bytes


class StatsGroup(Command, frozen=True, gc=False):
    """`stats-group <group>`, tuber."""

    name: ClassVar[str] = "stats-group"
    group: bytes


class ListTubes(Command, frozen=True, gc=False):
    """`list-tubes`."""

    name: ClassVar[str] = "list-tubes"


class ListTubeUsed(Command, frozen=True, gc=False):
    """`list-tube-used`."""

    name: ClassVar[str] = "list-tube-used"


class ListTubesWatched(Command, frozen=True, gc=False):
    """`list-tubes-watched`."""

    name: ClassVar[str] = "list-tubes-watched"


class PauseTube(Command, frozen=True, gc=False):
    """`pause-tube <tube> <delay>`."""

    name: ClassVar[str] = "pause-tube"
    tube: bytes
    pause_s: int


class FlushTube(Command, frozen=True, gc=False):
    """`flush-tube <tube>`, tuber."""

    name: ClassVar[str] = "flush-tube"
    tube: bytes


class Drain(Command, frozen=True, gc=False):
    """`drain`, tuber."""

    name: ClassVar[str] = "drain"


class Undrain(Command, frozen=True, gc=False):
    """`undrain`, tuber."""

    name: ClassVar[str] = "undrain"


class Quit(Command, frozen=True, gc=False):
    """`quit`: what follows it is never read."""

    name: ClassVar[str] = "quit"
