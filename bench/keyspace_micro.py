"""Time the key space's core, and weigh its watches.

    python bench/keyspace_micro.py

Puts without a watch (one key, and 10,000 keys), with 10,000 watches on as many other keys, with
as many on prefixes of their own, and with 10,000 on one common range, each of which is told every
put. Then what an idle watch weighs. Each time is the best of many batches, because other programs
on the machine can only make one slower.
"""

import gc
import time
import tracemalloc

from etcdq.actors.message import Address
from etcdq.actors.node.keyspace import KeySpaceCore
from etcdq.actors.node.messages import Drained, PutKey, WatchKeys

VALUE = b"x" * 100
PER_BATCH = 64
BATCHES = 500
WATCHES = 10_000


class Nowhere:
    """A handle whose actor does not listen."""

    def post(self, message: object) -> None:
        """Drop the message."""


HOST = Nowhere()
TO = Address(HOST, 1)


def put_us(core: KeySpaceCore, keys: int) -> float:
    """Return µs per put over `keys` keys, in batches of 64 with their settle."""
    best_s = float("inf")
    number = 0
    for _ in range(BATCHES):
        puts = [PutKey(TO, b"key-%d" % ((number + i) % keys), VALUE) for i in range(PER_BATCH)]
        number += PER_BATCH
        began_s = time.perf_counter()
        for put in puts:
            core.step(put, 0.0)
        core.settle(0.0)
        best_s = min(best_s, time.perf_counter() - began_s)
    return best_s / PER_BATCH * 1e6


def watched(kind: str) -> KeySpaceCore:
    """Return a core with 10,000 watches."""
    core = KeySpaceCore()
    for number in range(WATCHES):
        start, end = {
            "key": (b"watched-%d" % number, b""),
            "prefix": (b"watched-%d/" % number, b"watched-%d0" % number),
            "range": (b"key", b"kez"),
        }[kind]
        core.step(WatchKeys(TO, Address(HOST, (2, number)), start, end), 0.0)
    core.settle(0.0)
    return core


def fan_out_us() -> float:
    """Return µs per watch for one put that 10,000 watches are told, and their drains."""
    core = watched("range")
    watches = [Address(HOST, (2, number)) for number in range(WATCHES)]
    best_s = float("inf")
    for _ in range(20):
        drains = [Drained(watch) for watch in watches]
        began_s = time.perf_counter()
        core.step(PutKey(TO, b"key-1", VALUE), 0.0)
        effects = core.settle(0.0)
        for drain in drains:
            core.step(drain, 0.0)
        core.settle(0.0)
        best_s = min(best_s, time.perf_counter() - began_s)
        assert len(effects) == WATCHES + 1
    return best_s / WATCHES * 1e6


def watch_bytes(kind: str) -> float:
    """Return the bytes that one of 10,000 idle watches takes, its address included."""
    gc.collect()
    tracemalloc.start()
    core = watched(kind)
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert core.statistics().watchers == WATCHES
    return held / WATCHES


def main() -> None:
    """Print one line per figure."""
    print(f"put, one key              {put_us(KeySpaceCore(), 1):7.2f} us")
    print(f"put, 10,000 keys          {put_us(KeySpaceCore(), 10_000):7.2f} us")
    print(f"  10,000 watches on keys  {put_us(watched('key'), 10_000):7.2f} us")
    print(f"  10,000 on prefixes      {put_us(watched('prefix'), 10_000):7.2f} us")
    print(f"told and drained, 10,000 watches on one range {fan_out_us():6.2f} us per watch")
    for kind in ("key", "prefix", "range"):
        print(f"an idle watch on a {kind:7}{watch_bytes(kind):8.0f} bytes")


if __name__ == "__main__":
    main()
