"""The shell of a beanstalk session under the autojump clock: slow clients, ends, faults."""

from typing import Any

import pytest
import trio
from trio.testing import memory_stream_pair, wait_all_tasks_blocked

from etcdq.actors import limits
from etcdq.actors.turns import Seat
from etcdq.server.beanstalk.shell import SessionShell
from tests.support.beanstalk_world import BeanstalkWorld, with_a_node

PUT = b"put 0 0 60 1\r\nx\r\n"


# talking ------------------------------------------------------------------------------------


@with_a_node
async def test_a_job_from_end_to_end(world: BeanstalkWorld) -> None:
    """One connection puts it, another one reserves and deletes it."""
    producer, consumer = await world.connect(), await world.connect()
    assert await producer.ask(PUT) == b"INSERTED 1\r\n"
    assert await consumer.ask(b"reserve\r\n") == b"RESERVED 1 1\r\nx\r\n"
    assert await producer.ask(b"delete 1\r\n") == b"NOT_FOUND\r\n"
    assert await consumer.ask(b"delete 1\r\n") == b"DELETED\r\n"


@pytest.mark.parametrize("lockstep", [True, False])
@with_a_node
async def test_byte_by_byte(world: BeanstalkWorld, lockstep: bool) -> None:
    """The same answers, however the bytes come."""
    client = await world.connect(lockstep=lockstep)
    for byte in PUT + b"reserve\r\n":
        await client.say(bytes([byte]))
    said = b""
    while len(said) < 29:
        said += await client.hear()
    assert said == b"INSERTED 1\r\nRESERVED 1 1\r\nx\r\n"


@with_a_node
async def test_a_thousand_commands_at_once(world: BeanstalkWorld) -> None:
    """Pipelined pairs of reserve and delete are done in order."""
    client = await world.connect()
    await client.say(PUT * 500)
    pairs = b"".join(b"reserve\r\ndelete %d\r\n" % number for number in range(1, 501))
    await client.say(pairs + b"stats-tube default\r\nquit\r\n")
    said = await client.end()
    assert said.count(b"INSERTED") == said.count(b"RESERVED") == said.count(b"DELETED\r\n") == 500
    assert b"current-jobs-ready: 0\n" in said


@with_a_node
async def test_a_reserve_waits(world: BeanstalkWorld) -> None:
    """Until a job comes, or exactly as long as it said."""
    producer, consumer = await world.connect(), await world.connect()
    assert await consumer.ask(b"reserve-with-timeout 5\r\n") == b""
    await trio.sleep(4)
    await producer.say(PUT)
    assert await consumer.hear() == b"RESERVED 1 1\r\nx\r\n"

    await consumer.say(b"reserve-with-timeout 5\r\n")
    assert await consumer.stream.receive_some(100) == b"TIMED_OUT\r\n"
    assert trio.current_time() == 9.0


@with_a_node
async def test_one_packet_is_done_in_order(world: BeanstalkWorld) -> None:
    """Each command sees what those before it did, also behind reserves that are not answered."""
    client = await world.connect()
    said = await client.ask(
        b"reserve-with-timeout 0\r\n" + PUT + b"reserve-with-timeout 0\r\n"
        b"release 1 0 0\r\nreserve-with-timeout 0\r\ndelete 1\r\nreserve-with-timeout 0\r\n"
        b"delete 2\r\n" + PUT + b"delete 2\r\nreserve-job 3\r\n" + PUT + b"reserve-job 3\r\n"
        b"delete 3\r\nquit\r\n"
    )
    assert said.split(b"\r\n") == [
        *(b"TIMED_OUT", b"INSERTED 1", b"RESERVED 1 1", b"x"),
        *(b"RELEASED", b"RESERVED 1 1", b"x", b"DELETED", b"TIMED_OUT"),
        *(b"NOT_FOUND", b"INSERTED 2", b"DELETED", b"NOT_FOUND", b"INSERTED 3"),
        *(b"RESERVED 3 1", b"x", b"DELETED", b""),
    ]


@with_a_node
async def test_thousands_of_reserves_behind_one_that_waits(world: BeanstalkWorld) -> None:
    """They are all answered when that one is."""
    client, other = await world.connect(), await world.connect()
    await client.ask(b"reserve\r\n" + b"reserve-with-timeout 0\r\n" * 2_500)
    await other.ask(PUT)
    assert await client.hear() == b"RESERVED 1 1\r\nx\r\n" + b"TIMED_OUT\r\n" * 2_500


@with_a_node
async def test_a_job_deleted_under_ones_hands(world: BeanstalkWorld) -> None:
    """Of two that name a job in the same moment, one has it."""
    one, two = await world.connect(), await world.connect()
    await one.ask(PUT)
    await one.say(b"reserve-job 1\r\n")
    await two.say(b"delete 1\r\n")
    heard = {await one.hear(), await two.hear()}
    assert heard in (
        {b"RESERVED 1 1\r\nx\r\n", b"NOT_FOUND\r\n"},
        {b"NOT_FOUND\r\n", b"DELETED\r\n"},
    )


# ends ---------------------------------------------------------------------------------------


@with_a_node
async def test_quit_gives_back_at_once(world: BeanstalkWorld) -> None:
    """Also where its client never closes: nobody waits for that."""
    client, other = await world.connect(), await world.connect()
    began_s = trio.current_time()
    await client.say(PUT + b"reserve\r\nquit\r\n")
    await wait_all_tasks_blocked()
    assert await other.ask(b"reserve\r\n") == b"RESERVED 1 1\r\nx\r\n"
    assert trio.current_time() == began_s


@with_a_node
async def test_quit(world: BeanstalkWorld) -> None:
    """What came before is answered, then the connection is closed."""
    client = await world.connect()
    await client.say(PUT + b"quit\r\n" + PUT)
    assert await client.end() == b"INSERTED 1\r\n"
    await wait_all_tasks_blocked()
    assert world.serving == 0


@with_a_node
async def test_half_close(world: BeanstalkWorld) -> None:
    """A client that has said all gets its answers; a reserve that waits is ended."""
    client = await world.connect()
    await client.say(b"reserve\r\n" + PUT)
    await client.stream.send_stream.aclose()
    assert await client.end() == b"TIMED_OUT\r\nINSERTED 1\r\n"
    assert trio.current_time() == 0.0


@with_a_node
async def test_half_close_with_a_job_at_hand(world: BeanstalkWorld) -> None:
    """A reserve that need not wait gets its job, and gives it back at the end."""
    client, other = await world.connect(), await world.connect()
    await client.say(PUT + b"reserve\r\n")
    await client.stream.send_stream.aclose()
    assert await client.end() == b"INSERTED 1\r\nRESERVED 1 1\r\nx\r\n"
    assert await other.ask(b"reserve-with-timeout 0\r\n") == b"RESERVED 1 1\r\nx\r\n"


@with_a_node
async def test_a_client_that_dies_while_it_waits(world: BeanstalkWorld) -> None:
    """It swallows no job: the next one is ready, and nobody counts as waiting."""
    dying, other = await world.connect(), await world.connect()
    await dying.ask(b"reserve\r\n")
    await dying.stream.aclose()
    await wait_all_tasks_blocked()
    said = await other.ask(PUT + b"stats-tube default\r\nstats-job 1\r\nstats\r\n")
    assert said.count(b"current-waiting: 0\n") == 2
    assert b"state: ready\n" in said
    assert b"current-connections: 1\n" in said


@with_a_node
async def test_disconnect_gives_back(world: BeanstalkWorld) -> None:
    """What a connection had reserved is ready at once, at its priority."""
    client, other = await world.connect(), await world.connect()
    await client.ask(PUT + b"reserve\r\n")
    await client.stream.aclose()
    await wait_all_tasks_blocked()
    said = await other.ask(b"stats-job 1\r\n")
    assert b"state: ready\npri: 0\n" in said
    assert b"reserves: 1\ntimeouts: 0\nreleases: 0\n" in said


@with_a_node
async def test_a_body_cut_off(world: BeanstalkWorld) -> None:
    """A client that leaves in the middle of a body leaves no job."""
    client, other = await world.connect(), await world.connect()
    await client.say(b"put 0 0 60 10\r\nabc")
    await client.stream.aclose()
    await wait_all_tasks_blocked()
    assert world.serving == 1
    assert await other.ask(b"peek-ready\r\n") == b"NOT_FOUND\r\n"


@with_a_node
async def test_many_that_come_and_go(world: BeanstalkWorld) -> None:
    """Nothing of them is left."""
    for number in range(200):
        client = await world.connect()
        await client.ask(b"watch t%d\r\nuse t%d\r\nreserve-with-timeout 0\r\n" % (number, number))
        await client.say(b"reserve\r\n")
        await client.stream.aclose()
    await wait_all_tasks_blocked()
    counts = world.door.counts
    assert (counts.connections, counts.workers, counts.connections_total) == (0, 0, 200)
    assert world.door.tubes() == [b"default"]
    assert world.node._queues.stage.cores.keys() <= {b"default"}


# slow clients -------------------------------------------------------------------------------


@with_a_node
async def test_a_dribble_is_closed(world: BeanstalkWorld) -> None:
    """A line at a byte per 5 s ends after 30 s, with a line in the log; others are served."""
    slow, other = await world.connect(), await world.connect()
    await slow.say(b"put")
    for _ in range(5):
        await trio.sleep(5)
        await slow.say(b" ")
        assert await other.ask(b"kick 1\r\n") == b"KICKED 0\r\n"
    assert await slow.end() == b""
    assert trio.current_time() == 30.0
    await wait_all_tasks_blocked()
    level, event, fields = world.log_lines[-1]
    assert (level, event, fields["peer"]) == ("info", "connection closed", "memory")
    assert "did not go on" in fields["reason"]


@with_a_node
async def test_the_idle_live_for_ever(world: BeanstalkWorld) -> None:
    """A connection that has begun nothing is never closed."""
    client = await world.connect()
    await trio.sleep(86_400)
    assert await client.ask(b"kick 1\r\n") == b"KICKED 0\r\n"


@with_a_node
async def test_a_client_that_does_not_read(world: BeanstalkWorld) -> None:
    """It is read no further than one backlog of answers, and costs nobody else anything."""
    slow, other = await world.connect(lockstep=True), await world.connect()
    size = 60_000
    await other.ask(b"put 0 0 60 %d\r\n%b\r\n" % (size, b"x" * size))
    sent = heard = 0

    async def write() -> None:
        nonlocal sent
        for _ in range(100):
            await slow.say(b"peek 1\r\n" * 10)
            sent += 10
        await slow.say(b"quit\r\n")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(write)
        await trio.sleep(10)
        assert sent * size < 2 * limits.BACKLOG_BYTES_MAX
        assert await other.ask(b"kick 1\r\n") == b"KICKED 0\r\n"
        heard = len(await slow.end())

    assert heard == 1_000 * len(b"FOUND 1 60000\r\n%b\r\n" % (b"x" * size))


@with_a_node
async def test_much_behind_a_reserve_that_waits(world: BeanstalkWorld) -> None:
    """So much is taken and no more; when the reserve is answered, all is done."""
    client, other = await world.connect(lockstep=True), await world.connect()
    await client.say(b"reserve\r\n")
    line = b"kick 1\r\n"
    lines = 2 * limits.BEANSTALK_PARKED_BYTES_MAX // len(line)
    said = b""

    async def write() -> None:
        for _ in range(lines // 32):
            await client.say(line * 32)
        await client.say(b"quit\r\n")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(write)
        await trio.sleep(100)
        given = world.door.counts.given["kick"]
        assert 0 <= given * len(line) - limits.BEANSTALK_PARKED_BYTES_MAX < 1_000
        await other.ask(PUT)
        said = await client.end()

    assert said == b"RESERVED 1 1\r\nx\r\n" + b"KICKED 0\r\n" * lines


# the node's end, and faults -----------------------------------------------------------------


@with_a_node
async def test_drain(world: BeanstalkWorld) -> None:
    """The idle, those that wait and those half-way into a body are closed without a word."""
    idle, waiting, busy = [await world.connect() for _ in range(3)]
    await waiting.ask(b"reserve\r\n")
    assert await busy.ask(b"kick 1\r\nput 0 0 60 1\r\n") == b"KICKED 0\r\n"
    world.drain.set()
    for client in (idle, waiting, busy):
        assert await client.end() == b""
    await wait_all_tasks_blocked()
    assert world.serving == 0


@with_a_node
async def test_drain_answers_what_arrived(world: BeanstalkWorld) -> None:
    """What stands behind a reserve that waits is done, so both are answered."""
    client = await world.connect()
    await client.ask(b"reserve\r\n" + PUT)
    world.drain.set()
    assert await client.end() == b"TIMED_OUT\r\nINSERTED 1\r\n"


@with_a_node
async def test_drain_waits_for_who_reads_slowly(world: BeanstalkWorld) -> None:
    """An answer that was made is written to its end."""
    client = await world.connect(lockstep=True)
    size = 60_000
    await client.say(b"put 0 0 60 %d\r\n%b\r\n" % (size, b"x" * size))
    assert await client.hear() == b"INSERTED 1\r\n"
    await client.say(b"reserve\r\n")
    await wait_all_tasks_blocked()
    world.drain.set()
    await wait_all_tasks_blocked()
    assert world.serving == 1
    assert len(await client.end()) == size + len(b"RESERVED 1 60000\r\n\r\n")


@with_a_node
async def test_a_fault_ends_one_connection(world: BeanstalkWorld) -> None:
    """What fails in a session is logged with peer and reason, and nobody else notices."""

    def fail() -> Any:
        raise RuntimeError("a bug")

    other = await world.connect()
    bad = await world.connect(totals=fail)
    await bad.say(PUT + b"reserve\r\nstats\r\n")
    await bad.end()
    await wait_all_tasks_blocked()

    assert world.serving == 1
    level, event, fields = world.log_lines[-1]
    assert (level, event, fields["peer"]) == ("error", "a session failed", "memory")
    assert "a bug" in fields["reason"]
    assert await other.ask(b"reserve\r\n") == b"RESERVED 1 1\r\nx\r\n"


@with_a_node
async def test_drained_by_a_client(world: BeanstalkWorld) -> None:
    """Puts are refused on every connection until it is undone; their bodies are consumed."""
    one, two = await world.connect(), await world.connect()
    assert await one.ask(PUT + b"drain\r\n" + PUT) == b"INSERTED 1\r\nDRAINING\r\nDRAINING\r\n"
    assert await two.ask(PUT + b"kick 1\r\n") == b"DRAINING\r\nKICKED 0\r\n"
    assert await two.ask(b"undrain\r\n" + PUT) == b"NOT_DRAINING\r\nINSERTED 2\r\n"


@with_a_node
async def test_a_fault_at_the_instant_of_an_alarm(world: BeanstalkWorld) -> None:
    """It ends the session, too: whoever wakes the session's task, the error is seen."""
    _, theirs = memory_stream_pair()
    shell = SessionShell(theirs, world.door)
    seat = Seat(shell.mailbox, broken, shell._hear_now, shell._end_now)
    shell._seat = seat
    with trio.fail_after(1), pytest.RaisesGroup(ZeroDivisionError, flatten_subgroups=True):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(shell.run, world.drain)
            await wait_all_tasks_blocked()
            shell._alarm.cancel()
            world.door.readers.turns.take([(seat, b"x")])


def broken(data: bytes, now_s: float) -> None:
    """Receive, and fail."""
    raise ZeroDivisionError
