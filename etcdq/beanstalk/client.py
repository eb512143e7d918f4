"""The client: every command of beanstalkd and of tuber's dialect, over one connection."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, Unpack

from etcdq.beanstalk import commands, documents
from etcdq.beanstalk.address import choose_address
from etcdq.beanstalk.answers import TAGS_PROBE, expect, expect_tags, inserted
from etcdq.beanstalk.commands import PRIORITY, PutOptions, line, name, whole
from etcdq.beanstalk.commands import job_id as checked_id
from etcdq.beanstalk.connection import Connection, dial, open_connection
from etcdq.beanstalk.errors import refusal
from etcdq.beanstalk.gathering import Gathering
from etcdq.beanstalk.records import DeletedBatch, Inserted, Job, ReserveMode, Statistics
from etcdq.beanstalk.replies import BATCH_MAX, Reply
from etcdq.beanstalk.reserving import Reserving
from etcdq.errors import EtcdqError

CONNECT_TIMEOUT_S: Final = 5.0
KICK_MAX: Final = commands.NUMBER_MAX


class Client:
    """Made by `connect`. Tasks may share one; their commands are pipelined on one connection.

    Which tube is used, which are watched, and what is held belong to the connection, hence to all
    tasks that share it. The server answers in order: a reserve that waits holds up whatever is
    asked behind it, so who waits for jobs has a connection of its own. Of several reserves the
    next is sent when the one before is answered.

    Every call may raise `NotConnectedError` (nothing was sent), `ConnectionLostError` (it may have
    been carried out) or `RemoteProtocolError`; a refusal is an error of `etcdq.beanstalk` named
    after the reply word.

    A cancelled call may still be carried out. A job that answers a cancelled reserve goes back to
    its place in the tube, and only then the next reserve is sent; but a reserve that waits without
    a timeout goes on waiting at the server, with everything behind it, until a job comes or the
    connection is left.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._knows_tags = False
        self._reserving = Reserving(connection)
        self._gathering = Gathering()

    @property
    def address(self) -> str:
        """The server, as HOST:PORT or unix://PATH."""
        return str(self._connection.endpoint)

    @property
    def is_connected(self) -> bool:
        """Whether the connection is there, as far as is known without asking the server."""
        return not self._connection.ended.is_set()

    # producing ------------------------------------------------------------------------------

    async def use(self, tube: str) -> None:
        """Choose the tube of `put`, `kick` and the peeks without an id. At first: "default"."""
        await self._ask(line("use", name(tube)), "USING")

    async def put(self, body: bytes, **options: Unpack[PutOptions]) -> Inserted:
        """Put a job into the used tube.

        Args:
            body: any bytes.
            options: see `PutOptions`: priority, delay_s, ttr_s, and tuber's tags.

        Raises:
            InvalidArgumentError, JobTooBigError: a value, or the size of the body.
            DrainingError, OutOfMemoryError, OutOfStorageError: no job was made.
            BuriedError: a job was made, and buried.
            UnsupportedError: a tag was given, and the server is a plain beanstalkd.
        """
        command = commands.put(body, options)
        await self._require_tags(options)
        return inserted(await self._ask(command, "INSERTED"))

    async def put_many(
        self, bodies: Sequence[bytes], **options: Unpack[PutOptions]
    ) -> list[Inserted | EtcdqError]:
        """Put jobs in this order, all on their way at once.

        Returns:
            What became of each: a refusal is in its place, for the others were put all the same.

        Raises:
            EtcdqError: as `put`, for what concerns them all.
        """
        puts = [commands.put(body, options) for body in bodies]
        await self._require_tags(options)
        replies = await self._connection.ask_all(puts)
        return [refusal(reply, "put") or inserted(reply) for reply in replies]

    async def _require_tags(self, options: PutOptions) -> None:
        """Before the first put with tags, see that the server reads tags."""
        if self._knows_tags or not options.keys() & commands.TAGS:
            return
        expect_tags(await self._connection.ask(TAGS_PROBE))
        self._knows_tags = True

    # reserving ------------------------------------------------------------------------------

    async def watch(self, tube: str, weight: int | None = None) -> int:
        """Reserve from this tube too; return how many are watched. At first: "default".

        Args:
            tube: its name.
            weight: 1 to 9999, for the weighted modes of tuber.
        """
        reply = await self._ask(
            commands.watch(tube, weight), "WATCHING", extension=weight is not None
        )
        return reply.number()

    async def ignore(self, tube: str) -> int:
        """Reserve from this tube no longer; return how many are watched.

        Raises:
            NotIgnoredError: it is the only one.
        """
        return (await self._ask(line("ignore", name(tube)), "WATCHING")).number()

    async def reserve_mode(self, mode: ReserveMode) -> None:
        """Choose how jobs are chosen among the watched tubes (tuber)."""
        await self._ask(line("reserve-mode", mode.value), "USING", extension=True)

    async def reserve(self, timeout_s: int | None = None) -> Job:
        """Reserve the most urgent job of the watched tubes, waiting for one.

        Args:
            timeout_s: how long the server waits, in whole seconds; None: for ever.

        Raises:
            TimedOutError: no job came.
            DeadlineSoonError: a job that is held expires within a second.
        """
        return (await self._reserve(commands.reserve(timeout_s), "RESERVED")).jobs[0]

    async def reserve_up_to(self, count: int, timeout_s: int | None = None) -> tuple[Job, ...]:
        """Reserve a job, waiting for it, and with it what else is ready.

        By tuber's reserve-batch; where the server knows none, one by one. If the caller is
        cancelled, all of them go back.

        Args:
            count: how many jobs at most.
            timeout_s: as for `reserve`.

        Raises:
            TimedOutError, DeadlineSoonError: as `reserve`; then there is no job.
        """
        whole(count, "count", at_least=1)
        command = commands.reserve(timeout_s)
        replies = await self._reserving.ask_in_turn(
            command, partial(self._gathering.next_command, count)
        )
        expect(replies[0], "RESERVED", command)
        return tuple(job for reply in replies for job in reply.jobs)

    async def reserve_batch(self, count: int) -> tuple[Job, ...]:
        """Reserve what is there now, up to `count` jobs, 1 to 1000 (tuber)."""
        command = line("reserve-batch", whole(count, "count", at_least=1, at_most=BATCH_MAX))
        return (await self._reserve(command, "RESERVED_BATCH", extension=True)).jobs

    async def reserve_job(self, job_id: int) -> Job:
        """Reserve this job, whatever tube it is in, unless it is reserved."""
        return (await self._reserve(line("reserve-job", checked_id(job_id)), "RESERVED")).jobs[0]

    async def delete(self, job_id: int) -> None:
        """Delete a job that this connection holds, or that nobody does."""
        await self._ask(line("delete", checked_id(job_id)), "DELETED")

    async def delete_batch(self, job_ids: Sequence[int]) -> DeletedBatch:
        """Delete 1 to 1000 jobs (tuber)."""
        command = commands.delete_batch(job_ids)
        reply = await self._ask(command, "DELETED_BATCH", extension=True)
        return DeletedBatch(reply.number(0), reply.number(1))

    async def release(self, job_id: int, *, priority: int = PRIORITY, delay_s: int = 0) -> None:
        """Give back a job that this connection holds.

        Raises:
            BuriedError: the server had no memory for it, and buried it.
        """
        words = checked_id(job_id), whole(priority, "priority"), whole(delay_s, "delay")
        await self._ask(line("release", *words), "RELEASED")

    async def bury(self, job_id: int, *, priority: int = PRIORITY) -> None:
        """Set a job aside that this connection holds, until it is kicked."""
        await self._ask(line("bury", checked_id(job_id), whole(priority, "priority")), "BURIED")

    async def touch(self, job_id: int) -> None:
        """Restart the time to run of a job that this connection holds."""
        await self._ask(line("touch", checked_id(job_id)), "TOUCHED")

    # looking and tending --------------------------------------------------------------------

    async def kick(self, bound: int = KICK_MAX) -> int:
        """Make buried jobs of the used tube ready, or delayed ones where none is buried.

        Returns:
            How many, `bound` at most.
        """
        return (await self._ask(line("kick", whole(bound, "bound")), "KICKED")).number()

    async def kick_job(self, job_id: int) -> None:
        """Make this buried or delayed job ready."""
        await self._ask(line("kick-job", checked_id(job_id)), "KICKED")

    async def peek(self, job_id: int) -> Job:
        """Look at a job."""
        return (await self._ask(line("peek", checked_id(job_id)), "FOUND")).jobs[0]

    async def peek_ready(self) -> Job:
        """Look at the next ready job of the used tube."""
        return (await self._ask(b"peek-ready\r\n", "FOUND")).jobs[0]

    async def peek_delayed(self) -> Job:
        """Look at the delayed job of the used tube that is ready first."""
        return (await self._ask(b"peek-delayed\r\n", "FOUND")).jobs[0]

    async def peek_buried(self) -> Job:
        """Look at the buried job of the used tube that is kicked first."""
        return (await self._ask(b"peek-buried\r\n", "FOUND")).jobs[0]

    async def peek_reserved(self) -> Job:
        """Look at a reserved job of the used tube (tuber)."""
        return (await self._ask(b"peek-reserved\r\n", "FOUND", extension=True)).jobs[0]

    async def list_tubes(self) -> list[str]:
        """Return the names of all tubes."""
        return documents.read_names((await self._ask(b"list-tubes\r\n", "OK")).body)

    async def list_tubes_watched(self) -> list[str]:
        """Return the names of the tubes that this connection watches."""
        return documents.read_names((await self._ask(b"list-tubes-watched\r\n", "OK")).body)

    async def stats(self) -> Statistics:
        """Return the statistics of the server."""
        reply = await self._ask(b"stats\r\n", "OK")
        return documents.read_statistics(reply.body, documents.SERVER_TEXTS)

    async def stats_job(self, job_id: int) -> Statistics:
        """Return the statistics of a job."""
        reply = await self._ask(line("stats-job", checked_id(job_id)), "OK")
        return documents.read_statistics(reply.body, documents.JOB_TEXTS)

    async def stats_tube(self, tube: str) -> Statistics:
        """Return the statistics of a tube."""
        reply = await self._ask(line("stats-tube", name(tube)), "OK")
        return documents.read_statistics(reply.body, documents.TUBE_TEXTS)

    async def stats_tubes(self) -> dict[str, Statistics]:
        """Return the statistics of all tubes, by name; a tube that just ended is left out."""
        tubes = sorted(await self.list_tubes())
        replies = await self._connection.ask_all([line("stats-tube", tube) for tube in tubes])
        return {
            tube: documents.read_statistics(reply.body, documents.TUBE_TEXTS)
            for tube, reply in zip(tubes, replies, strict=True)
            if reply.word == "OK"
        }

    async def stats_group(self, group: str) -> Statistics:
        """Return the statistics of a group of jobs (tuber)."""
        reply = await self._ask(line("stats-group", name(group, "group")), "OK", extension=True)
        return documents.read_statistics(reply.body, documents.GROUP_TEXTS)

    async def pause_tube(self, tube: str, delay_s: int) -> None:
        """Hand out no job of a tube for so many whole seconds; 0 ends a pause."""
        await self._ask(line("pause-tube", name(tube), whole(delay_s, "delay")), "PAUSED")

    async def flush_tube(self, tube: str) -> int:
        """Delete all jobs of a tube, and return how many there were (tuber)."""
        reply = await self._ask(line("flush-tube", name(tube)), "FLUSHED", extension=True)
        return reply.number()

    async def drain(self) -> None:
        """Let the server take no more jobs (tuber)."""
        await self._ask(b"drain\r\n", "DRAINING", extension=True)

    async def undrain(self) -> None:
        """Let the server take jobs again (tuber)."""
        await self._ask(b"undrain\r\n", "NOT_DRAINING", extension=True)

    # ----------------------------------------------------------------------------------------

    async def _ask(self, command: bytes, word: str, *, extension: bool = False) -> Reply:
        return expect(await self._connection.ask(command), word, command, extension=extension)

    async def _reserve(self, command: bytes, word: str, *, extension: bool = False) -> Reply:
        return expect(await self._reserving.ask(command), word, command, extension=extension)


@asynccontextmanager
async def connect(
    address: str | None = None, *, timeout_s: float = CONNECT_TIMEOUT_S
) -> AsyncIterator[Client]:
    """Connect: `async with beanstalk.connect("127.0.0.1:11300") as client:`.

    There is one connection: lost, it is not made again. Leaving closes it, by which the server
    makes ready what it held. Runs under Trio only.

    Args:
        address: `HOST:PORT`, `beanstalk://…`, `tuber://…`, `tcp://…` or `unix:PATH`; without it
            that of ETCDQ_BEANSTALK_URL or TUBER_URL, else 127.0.0.1:11300.
        timeout_s: for connecting, in seconds; calls have none but the caller's own.

    Raises:
        InvalidArgumentError: an address of no known form.
        NotConnectedError: nobody answers there.
    """
    endpoint = choose_address(address)
    stream = await dial(endpoint, timeout_s)
    async with open_connection(stream, endpoint) as connection:
        yield Client(connection)
