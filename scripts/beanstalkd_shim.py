#!/usr/bin/env -S python3 -IS
"""A beanstalkd by its flags, for suites that start one and wait no longer than 100 ms for it.

    .venv/bin/python scripts/beanstalkd_shim.py --warm SOCKET &
    BEANSTALKD_SHIM=SOCKET scripts/beanstalkd_shim.py -l HOST -p PORT      (or -l unix:PATH)

The first has everything imported, and always a child ready that becomes a node of ours for the
next who asks at SOCKET. The second is the beanstalkd: it asks, hands signals on, and ends when its
node does. Everything is in memory: what concerns a log (-b, -f, -F, -s), and -u and -V, is accepted
and does nothing.
"""

import os
import signal
import socket
import sys

HANDED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
FLAGS = "b:f:Fl:p:s:z:u:Vnc"
FLAGS_BYTES_MAX = 10_000


def ask(path: str, arguments: list[str]) -> None:
    """Ask for a node at `path`, and stay as long as it does. Nothing is imported for this."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDED_ON)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall("\0".join(arguments).encode())
        pid = int(connection.recv(100))
        for number in HANDED_ON:
            signal.signal(number, lambda number, frame: os.kill(pid, number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDED_ON)
        connection.recv(1)


def settings_of(arguments: list[str]) -> dict[str, str]:
    """Return the settings of a node that is what beanstalkd's flags ask for."""
    import getopt

    given = dict(getopt.getopt(arguments, FLAGS)[0])
    host, port = given.get("-l", "0.0.0.0"), given.get("-p", "11300")
    settings = {
        "listen_beanstalk": host if host.startswith("unix:") else f"{host}:{port}",
        "beanstalk_dialect": "beanstalkd",
        "listen_client_urls": "http://127.0.0.1:0",
        "log_level": "error",
    }
    if "-z" in given:
        settings["max_job_size"] = given["-z"]
    return settings


def keep_warm(path: str) -> None:
    """Have a child ready for who asks at `path`, until this is killed."""
    import gc
    import select

    sys.path.insert(0, os.getcwd())
    from etcdq.server.config import load_config
    from etcdq.server.process import run_node

    load_config(settings_of([]))
    socket.getaddrinfo("localhost", None)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        print("warm", flush=True)
        gone, here = os.pipe()
        while True:
            taken, take = os.pipe()
            if os.fork() == 0:
                os.close(here)
                if gone in select.select([listener, gone], [], [])[0]:
                    sys.exit()
                connection, _ = listener.accept()
                os.close(take)
                arguments = connection.recv(FLAGS_BYTES_MAX).decode().split("\0")
                connection.sendall(str(os.getpid()).encode())
                sys.exit(run_node(load_config(settings_of(arguments))))
            os.close(take)
            os.read(taken, 1)
            os.close(taken)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--warm"]:
        keep_warm(sys.argv[2])
    else:
        ask(os.environ["BEANSTALKD_SHIM"], sys.argv[1:])
