"""Plays a scenario on a beanstalk client of Python: `DRIVER PORT STEPS`, a line per step back.

Imported by the drivers, in environments that have no package of ours. STEPS is a file of JSON, a
list of [CONNECTION, COMMAND, ARGUMENT...]; the drivers in other languages read and write the same.
"""

import json
import os
import signal
import sys
from pathlib import Path

SHOWN = 200


def play(open_client, commands_of):
    """Do each step; `commands_of(client)` are what the client has, by beanstalkd's words."""
    port, path = sys.argv[1:]
    clients = {}
    for name, command, *arguments in json.loads(Path(path).read_text()):
        if name not in clients:
            clients[name] = commands_of(open_client(int(port)))
        say = sayer(name, command, *(short(json.dumps(argument)) for argument in arguments))
        do = clients[name].get(command)
        if command == "drain":
            drain(clients[name], say)
        elif do is None:
            say("lacking")
        else:
            write_down(lambda do=do, given=arguments: do(*given), say)
        if command == "close":
            del clients[name]
    print("done")


def sayer(*words):
    """Return a function that says something of a step."""
    return lambda *said: print(*words, "->", *said, flush=True)


def write_down(do, say):
    """Say what a step returns, figure by figure, or what it raises."""
    try:
        seen = do()
    except Exception as error:
        say(type(error).__name__, error)
        return
    if isinstance(seen, dict):
        for field, value in seen.items():
            say(field, repr(value))
    else:
        say(short(repr(vars(seen) if hasattr(seen, "__dict__") else seen)))


def short(text):
    """Return a text that is not too long to be shown."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... {len(text)}"


def drain(commands, say):
    """Tell the server to refuse puts, and say how one is refused."""
    os.kill(commands["stats"]()["pid"], signal.SIGUSR1)
    while True:
        try:
            commands["put"]("drained", 0, 0, 1)
        except Exception as error:
            say(type(error).__name__, error)
            return
