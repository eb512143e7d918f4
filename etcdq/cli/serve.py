"""`etcdq serve`: run a node."""

import gc
import sys
from typing import Any

import click

_FLAGS = (
    ("--name", "NAME", "Name of this node, shown to clients.  [default: default]"),
    (
        "--listen-client-urls",
        "URLS",
        "Where the etcd door listens: http://HOST:PORT or unix://PATH, several separated by"
        " commas.  [default: http://127.0.0.1:2379]",
    ),
    (
        "--listen-beanstalk",
        "ADDRESS",
        "Where the beanstalk door listens: HOST:PORT, unix:PATH, or none.  [default:"
        " 127.0.0.1:11300]",
    ),
    (
        "--max-job-size",
        "SIZE",
        "Largest body of a job put through the beanstalk door, 1g at most.  [default: 65535]",
    ),
    (
        "--beanstalk-dialect",
        "DIALECT",
        "tuber, or beanstalkd: no extension, and statistics with exactly its fields.  [default:"
        " tuber]",
    ),
    (
        "--max-request-bytes",
        "SIZE",
        "Largest client request in bytes the server will accept.  [default: 1572864]",
    ),
    (
        "--accept-timeout",
        "DURATION",
        "A consumer that makes no progress with a message for this long is dropped.  [default: 5s]",
    ),
    (
        "--consumer-credit",
        "MESSAGES[,BYTES]",
        "What a consumer may hold unacknowledged; 0 for no limit.  [default: 256,1m]",
    ),
    (
        "--max-jobs-size",
        "SIZE",
        "What all messages may take, each its body, its key and 512 bytes; 0 for no limit."
        "  [default: 0]",
    ),
    ("--max-jobs-per-queue", "COUNT", "Messages in one queue; 0 for no limit.  [default: 0]"),
    (
        "--queue-idle",
        "DURATION",
        "A queue without messages, consumers and use for this long is removed.  [default: 10m]",
    ),
    (
        "--queue-prefixes",
        "PREFIXES",
        "Keys under these are queues, all others ordinary keys; the first is the one the server"
        " writes itself.  [default: /q/,/queue/]",
    ),
    (
        "--drain-timeout",
        "DURATION",
        "How long a stopping node waits for running calls.  [default: 5s]",
    ),
    ("--log-level", "LEVEL", "debug, info, warn or error.  [default: info]"),
    ("--log-format", "FORMAT", "text or json (etcd's keys).  [default: text]"),
    ("--config", "FILE", "YAML file with the flags' names as keys, as in `log-level: warn`."),
)


def _with_flags(command: Any) -> Any:
    for flag, metavar, text in reversed(_FLAGS):
        command = click.option(flag, metavar=metavar, help=text)(command)
    return command


@click.command()
@_with_flags
def serve(**flags: str | None) -> None:
    """Run a node: queues and keys in memory, behind the etcd door and the beanstalk door.

    Every flag is also a variable, ETCDQ_LOG_LEVEL for --log-level, and a key of the file. A flag
    beats the environment, that beats the file, that beats the default. Sizes take k, m and g;
    durations are 100ms, 5s, 10m, 1h or a number of seconds.

    SIGTERM or SIGINT drains: running calls are answered, watches end with a status. A second
    signal stops at once. SIGUSR1 refuses puts at both doors until `undrain` is said at the
    beanstalk door.

    Exit codes: 0 drained, 1 an address cannot be bound, 2 a wrong value, 70 a fault of the node
    itself (the log says which), 128 + N stopped by a second signal N.
    """
    # Importing makes no garbage to speak of: 50 ms of the start. The process turns it on again.
    gc.disable()
    from etcdq.server.config import ConfigError, load_config

    try:
        config = load_config({name: value for name, value in flags.items() if value is not None})
    except ConfigError as error:
        raise click.UsageError(str(error)) from None

    from etcdq.server.process import run_node

    sys.exit(run_node(config))
