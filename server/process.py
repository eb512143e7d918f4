"""A node as a process of its own: signals, the service manager, the ready line, the exit code.

Trio shell.
"""

import contextlib
import gc
import importlib
import resource
import signal
import sys
from collections.abc import AsyncIterable

import trio

import etcdq
from etcdq.actors.errors import CoreFault
from etcdq.actors.shell import WriteLog
from etcdq.server.config import NodeConfig
from etcdq.server.daemon import Daemon, open_daemon
from etcdq.server.listen import ListenError
from etcdq.server.logs import open_log
from etcdq.server.node import Node
from etcdq.server.notify import feed_watchdog, notify

EXIT_DRAINED = 0
EXIT_CANNOT_LISTEN = 1
EXIT_FAULT = 70
"""A core of ours failed: EX_SOFTWARE of sysexits.h."""
EXIT_SIGNAL = 128
"""Plus the number of the second signal, as shells count."""

GC_THRESHOLDS = (10_000, 20, 1_000)
"""A full collection walks all that lives: 187 ms with 20,000 idle actors. Jobs and messages are
not counted (`gc=False`), so what is left to collect is little and can wait."""


def run_node(config: NodeConfig) -> int:
    """Run a node until a signal ends it; return the exit code of the process."""
    log = open_log(config.log_format, config.log_level, sys.stderr)
    _raise_descriptor_limit()
    try:
        return trio.run(_run, config, log)
    except ListenError as error:
        print(f"etcdq: {error}", file=sys.stderr)
        return EXIT_CANNOT_LISTEN
    except CoreFault as fault:
        where = {"key": repr(fault.key), "message": repr(fault.message), "exc_info": fault}
        log("error", "a core failed: the node stops rather than serve wrong answers", where)
        return EXIT_FAULT
    except KeyboardInterrupt:
        return EXIT_SIGNAL + signal.SIGINT


async def _run(config: NodeConfig, log: WriteLog) -> int:
    stop = trio.Event()
    second: list[int] = []
    with (
        trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGUSR1) as signals,
        trio.CancelScope() as scope,
    ):
        async with open_daemon(config, log=log) as daemon:
            daemon.nursery.start_soon(_heed, signals, daemon.node, stop, scope, second, log)
            daemon.nursery.start_soon(feed_watchdog)
            _settle_garbage_collection()
            _announce(daemon, config)
            # The import costs 0.1 s, which a start has no use for.
            await trio.to_thread.run_sync(importlib.import_module, "structlog")
            await stop.wait()
            notify("STOPPING=1", "STATUS=draining: running calls are answered")
    if scope.cancelled_caught:
        return EXIT_SIGNAL + second[0]
    log("info", "stopped", {})
    return EXIT_DRAINED


async def _heed(
    signals: AsyncIterable[int],
    node: Node,
    stop: trio.Event,
    scope: trio.CancelScope,
    second: list[int],
    log: WriteLog,
) -> None:
    async for number in signals:
        name = signal.Signals(number).name
        if number == signal.SIGUSR1:
            node.drain()
            log("info", "puts are refused from now on", {"signal": name})
            continue
        if stop.is_set():
            log("warn", "stopping now, calls are cut", {"signal": name})
            second.append(number)
            scope.cancel()
            return
        log("info", "draining: no new calls, running ones are answered", {"signal": name})
        stop.set()


def _announce(daemon: Daemon, config: NodeConfig) -> None:
    """Say on stdout and to the service manager that the doors are open: one line."""
    doors = f"etcd door on {', '.join(daemon.urls)}"
    if daemon.beanstalk:
        doors += f", beanstalk door on {', '.join(daemon.beanstalk)}"
    prefixes = [prefix.decode() for prefix in config.queue_prefixes]
    if config.log_format == "json":
        fields = {
            "version": etcdq.__version__,
            "name": config.name,
            "listen-client-urls": list(daemon.urls),
            "listen-beanstalk": list(daemon.beanstalk),
            "durability": "memory",
            "queue-prefixes": prefixes,
        }
        open_log("json", "info", sys.stdout)("info", "ready to serve client requests", fields)
    else:
        line = (
            f"etcdq {etcdq.__version__} ready: {doors}, "
            f"memory only (a restart loses everything), queues under {' and '.join(prefixes)}"
        )
        with contextlib.suppress(OSError):  # nobody reads our output: no reason to stop
            print(line, flush=True)
    notify("READY=1", f"STATUS=serving: {doors}")


def _settle_garbage_collection() -> None:
    """Take what was built by the start out of every later collection, and make full ones rare."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(*GC_THRESHOLDS)


def _raise_descriptor_limit() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):  # some systems refuse what they offer
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
