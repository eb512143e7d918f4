"""`etcdq consume`: take messages."""

import os
import signal
import sys
from dataclasses import dataclass, field
from uuid import UUID

import click
import trio

from etcdq import Client, EtcdqError, Message, Messages, Queue
from etcdq.cli.client import endpoints_option, run

EXIT_UNACKNOWLEDGED = 3


@click.command()
@click.argument("name")
@click.option("--count", type=click.IntRange(min=1), help="End after so many messages.")
@click.option(
    "--exec",
    "command",
    metavar="CMD",
    help="Run CMD by the shell for each message, with the body as its standard input; exit code 0"
    " acknowledges the message, any other leaves it unacknowledged.",
)
@click.option("--consumer", type=click.UUID, help="Identity of the consumer.  [default: a new one]")
@endpoints_option
def consume(
    name: str,
    count: int | None,
    command: str | None,
    consumer: UUID | None,
    endpoints: str | None,
) -> int:
    """Take messages from the queue NAME, print each body as a line and acknowledge it.

    Ends after --count messages, or at SIGTERM or SIGINT when the message in hand is done; a second
    signal ends it now. A lost connection is made again. One message is in hand at a time; one that
    is left unacknowledged is buried, and `etcdq queue kick NAME` returns it.

    Exit codes: 0 every message in hand was acknowledged, 1 the server or the output failed,
    2 wrong usage, 3 some were left unacknowledged.
    """
    work = _Work(count, command)
    try:
        run(_consume, endpoints, name, consumer, work)
    except BrokenPipeError:
        # Nothing can be printed there any more, not even by the interpreter at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        text = "the output is closed; the message in hand is not acknowledged"
        raise click.ClickException(text) from None
    return EXIT_UNACKNOWLEDGED if work.unacknowledged else 0


@dataclass
class _Work:
    """What to do with messages, and how it went."""

    count: int | None
    command: str | None
    done: int = 0
    unacknowledged: int = 0
    stopping: bool = False
    waiting: trio.CancelScope = field(default_factory=trio.CancelScope)
    working: trio.CancelScope = field(default_factory=trio.CancelScope)

    async def take_all(self, messages: Messages) -> Message | None:
        """Take messages until there are enough, a signal says so, or one is left unacknowledged.

        Returns:
            The last one if it is done: to be acknowledged when the watch has ended, for until then
            the acknowledgement would bring another one.
        """
        with trio.CancelScope() as self.waiting:
            async for message in messages:
                with trio.CancelScope(shield=True) as self.working:
                    done = await self._do(message)
                    self.done += 1
                    if self.is_over or not done:
                        return message if done else None
                    await self.acknowledge(message)
                if self.working.cancelled_caught:
                    self.unacknowledged += 1
        return None

    @property
    def is_over(self) -> bool:
        """Whether there were enough messages, or a signal came."""
        return self.done == self.count or self.stopping

    async def acknowledge(self, message: Message) -> None:
        """Acknowledge, and say so if it came too late."""
        if not await message.ack():
            _say(f"message {_shown(message)} was gone, or handed out again, before this")

    async def _do(self, message: Message) -> bool:
        if self.command is None:
            sys.stdout.buffer.write(message.body + b"\n")
            sys.stdout.buffer.flush()
            code = 0
        else:
            process = await trio.run_process(
                self.command, shell=True, stdin=message.body, check=False
            )
            code = process.returncode
        if code != 0:
            self.unacknowledged += 1
            _say(f"message {_shown(message)} is not acknowledged: the command ended with {code}")
        return code == 0

    async def heed_signals(self, *, task_status: trio.TaskStatus[None]) -> None:
        """At the first signal wait for no further message, at the second stop at once."""
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            task_status.started()
            async for _ in signals:
                if self.stopping:
                    self.working.cancel()
                self.stopping = True
                self.waiting.cancel()


async def _consume(client: Client, name: str, consumer: UUID | None, work: _Work) -> None:
    queue = client.queue(name)
    failure: BaseException | None = None
    async with trio.open_nursery() as nursery:
        await nursery.start(work.heed_signals)
        try:
            while not work.is_over:
                # A message that is left unacknowledged keeps its credit until its watch ends.
                async with queue.consume(consumer, credit=1) as messages:
                    last = await work.take_all(messages)
                if last is not None:
                    await work.acknowledge(last)
        except (EtcdqError, OSError) as error:
            failure = error  # raised outside of the nursery, which would wrap it in a group
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    await _tell_buried(queue)


async def _tell_buried(queue: Queue) -> None:
    buried = (await queue.statistics()).summary.buried
    if buried:
        _say(f"{buried} buried in {queue.name}: `etcdq queue kick {queue.name}` returns them")


def _shown(message: Message) -> str:
    return message.key.decode("utf-8", "backslashreplace")


def _say(text: str) -> None:
    print(f"etcdq consume: {text}", file=sys.stderr, flush=True)
