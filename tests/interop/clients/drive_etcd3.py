"""Drives python etcd3 (on grpcio, threads). Runs in that client's own environment."""

import sys
import threading

import etcd3
from script import say, talk

MESSAGES_S = 60


class Script:
    """What `script.talk` asks for, in this client's words."""

    def __init__(self, host, port):
        self.client = etcd3.client(host=host, port=int(port))

    def keys(self):
        events, cancel = self.client.watch("k")
        say("get", self.client.get("k")[0])
        for value in (b"one", b"two"):
            self.client.put("k", value)
            say("get", self.client.get("k")[0])
        say("delete", self.client.delete("k"))
        say("delete", self.client.delete("k"))
        for _ in range(3):
            event = next(events)
            say("event", type(event).__name__[:-5].upper(), event.key, event.value)
        cancel()

    def produce(self, queue, count):
        for number in range(int(count)):
            self.client.put(f"/q/{queue}/p/job-{number}", f"body-{number}")
        say("produced", count)

    def consume(self, key, count, hold):
        events, cancel = self.client.watch(key)
        say("watching")
        for _ in range(int(count)):
            event = next(events)
            say("got", event.key, event.value)
            if hold == "hold":
                continue
            self.client.delete(event.key)
        say("done")
        if hold == "hold":
            threading.Event().wait(MESSAGES_S)
        cancel()

    def acknowledge(self, key):
        say("delete", self.client.delete(key))


talk(Script, sys.argv[1:])
