"""The forms of a key under a queue prefix, and what a range over such keys means.

    /q/{name}                            the registry key of a queue
    /q/{name}/p/{key}                    a producer key; /i/{client}/{key} is one as well
    /q/{name}/c/{uuid}                   a consumer's watch key, and its registry key
    /q/{name}/{index}/{key}              a delivery key, also /q/{name}/c/{uuid}/{index}/{key}

`/q/` and `/queue/`, `p` and `producer`, `i` and `input`, `c` and `consumer` are two spellings of
one thing, and so are `%2F` and `%2f` in {name}: the "/" of a tube's name. What follows a further
`/` after {key} is dropped. Source: docs/semantics.md sections 1 and 2.
"""

import uuid

import msgspec

from etcdq.actors import limits
from etcdq.actors.errors import InvalidKeyError
from etcdq.actors.node.ranges import FROM_KEY, prefix_end
from etcdq.actors.queue.names import queue_name, spelled

PRODUCER_WORDS = (b"p", b"producer")
INPUT_WORDS = (b"i", b"input")
CONSUMER_WORDS = (b"c", b"consumer")

_INDEX_BYTES = limits.INDEX_DIGITS + 1
"""An index and the "/" behind it."""


class KeyForm(msgspec.Struct, frozen=True, gc=False):
    """Base of the forms; `name` is the queue's, with a "/" where its key has `%2F`."""

    name: bytes


class QueueKey(KeyForm, frozen=True, gc=False):
    """The registry key of a queue."""


class ProducerKey(KeyForm, frozen=True, gc=False):
    """`key` is the producer key, client and tail together; `tail` its last segment."""

    key: bytes
    tail: bytes


class ConsumerKey(KeyForm, frozen=True, gc=False):
    """`segment` is what stands where the UUID belongs, as it came."""

    segment: bytes


class DeliveryKey(KeyForm, frozen=True, gc=False):
    """`holder` is the segment after `c`, None in the short form. `index` -1 hits nothing."""

    index: int
    tail: bytes
    holder: bytes | None = None


class JobsRange(KeyForm, frozen=True, gc=False):
    """Jobs of one queue whose `{index}/{key}` lies in [start, end); `end` None: no end.

    `lead` is what precedes that in each key, as spelled. `holder` not None: held by that one.
    """

    lead: bytes
    start: bytes
    end: bytes | None
    holder: bytes | None = None


class KeysRange(msgspec.Struct, frozen=True, gc=False):
    """Keys of the key space, in canonical spelling. `lead`/`canonical`: how to spell them back."""

    start: bytes
    end: bytes
    lead: bytes = b""
    canonical: bytes = b""


class Spelling:
    """Parses and writes keys for one set of queue prefixes.

    Args:
        prefixes: each begins and ends with "/"; the first is the canonical one.
    """

    def __init__(self, prefixes: tuple[bytes, ...]) -> None:
        self.prefixes = prefixes
        self.canonical = prefixes[0]
        self._producer_leads: dict[bytes, bytes] = {}
        """What producer keys of one queue begin with, and that queue's name: those seen lately."""
        self._queue_leads: dict[bytes, bytes] = {}
        """The same of delivery keys: `/q/{name}/`, as spelled."""

    def prefix_of(self, key: bytes) -> bytes | None:
        """Return the queue prefix that `key` lies under, None for an ordinary key."""
        for prefix in self.prefixes:
            if key.startswith(prefix):
                return prefix
        return None

    def parse(self, key: bytes) -> KeyForm | None:
        """Return the form of one key; None for an ordinary key.

        Raises:
            InvalidKeyError: under a queue prefix, and of no form.
        """
        cut = key.rfind(b"/") + 1
        lead = key[:cut]
        name = self._producer_leads.get(lead)
        if name is not None and cut < len(key):
            tail = key[cut:]
            return ProducerKey(name, tail, tail)
        name = self._queue_leads.get(lead[:-_INDEX_BYTES])
        if name is not None and cut < len(key):
            digits = lead[-_INDEX_BYTES:-1]
            if digits.isdigit():
                return DeliveryKey(name, int(digits), key[cut:])
        for prefix in self.prefixes:
            if key.startswith(prefix):
                segments = key[len(prefix) :].split(b"/")
                form = _form(key, prefix, segments)
                if len(segments) == 3:
                    self._learn(form, lead)
                return form
        return None

    def _learn(self, form: KeyForm, lead: bytes) -> None:
        if type(form) is ProducerKey:
            leads = self._producer_leads
        elif type(form) is DeliveryKey and form.index >= 0:
            leads, lead = self._queue_leads, lead[:-_INDEX_BYTES]
        else:
            return
        if len(leads) >= limits.KEY_LEADS_MAX:
            leads.clear()
        leads[lead] = form.name

    def queue_key(self, name: bytes) -> bytes:
        """Return the registry key of a queue, in canonical spelling."""
        return self.canonical + spelled(name)

    def consumer_key(self, name: bytes, consumer: bytes) -> bytes:
        """Return the registry key of a consumer, in canonical spelling."""
        return b"%s/c/%s" % (self.queue_key(name), consumer)

    def queue_lead(self, key: bytes) -> bytes:
        """Return what `key`, which names a queue and more, and its delivery keys begin with."""
        prefix = self.prefix_of(key)
        assert prefix is not None, "a key of a queue lies under a prefix"
        return key[: key.index(b"/", len(prefix)) + 1]

    def parse_range(self, start: bytes, end: bytes) -> JobsRange | KeysRange | None:
        """Say what [start, end) means; None if it lies in a queue and can hold nothing.

        Inside one queue's prefix it means jobs (or, under `c/`, that queue's registry keys);
        anything wider means the key space, where only registry keys stand under the prefix.
        """
        prefix = self.prefix_of(start)
        if prefix is None:
            return KeysRange(start, end)
        slash = start.find(b"/", len(prefix))
        top = b"" if slash < 0 else start[: slash + 1]
        if top and start >= top and _within(end, prefix_end(top)):
            return self._parse_inside(start, end, prefix, top)
        if prefix == self.canonical or not _within(end, prefix_end(prefix)):
            return KeysRange(start, end)
        canonical = self._respell(start, end, prefix, self.canonical)
        return KeysRange(canonical.start, canonical.end)

    def respell_watched(self, start: bytes, end: bytes) -> KeysRange:
        """Say where in the key space a watch on [start, end) looks: it never means jobs."""
        prefix = self.prefix_of(start)
        if prefix is None or not _within(end, prefix_end(prefix)):
            return KeysRange(start, end)
        form = self.parse_range(start, end)
        if isinstance(form, KeysRange):
            return form
        if form is None:
            return self._respell(start, end, prefix, self.canonical)
        lead = self.queue_lead(start)
        return self._respell(start, end, lead, self.queue_key(form.name) + b"/")

    def _respell(self, start: bytes, end: bytes, lead: bytes, canonical: bytes) -> KeysRange:
        new_start = canonical + start[len(lead) :]
        if end <= start:
            new_end = new_start  # such an end need not begin with `lead`
        elif end == prefix_end(lead):
            new_end = prefix_end(canonical)
        else:
            new_end = canonical + end[len(lead) :]
        return KeysRange(new_start, new_end, lead, canonical)

    def _parse_inside(
        self, start: bytes, end: bytes, prefix: bytes, top: bytes
    ) -> JobsRange | KeysRange | None:
        name = queue_name(top[len(prefix) : -1])
        if name is None or end <= start:
            return None
        for word in CONSUMER_WORDS:
            consumers = top + word + b"/"
            if not start.startswith(consumers):
                continue
            end = min(end, prefix_end(consumers))  # beyond stands no registry key
            slash = start.find(b"/", len(consumers))
            held = b"" if slash < 0 else start[: slash + 1]
            if held and _within(end, prefix_end(held)):
                holder = held[len(consumers) : -1]
                return JobsRange(name, held, start[len(held) :], _tail_end(end, held), holder)
            canonical = self.consumer_key(name, b"")
            return self._respell(start, end, consumers, canonical)
        return JobsRange(name, top, start[len(top) :], _tail_end(end, top))


def delivery_key(lead: bytes, index: int, tail: bytes) -> bytes:
    """Spell the key under which a job is delivered; `lead` is `/q/{name}/` as spelled."""
    return b"%s%016d/%s" % (lead, index, tail)


def consumer_identity(segment: bytes) -> str | None:
    """Return the identity of a UUID in any form: lower case, hyphenated; None if it is none."""
    try:
        return str(uuid.UUID(segment.decode("ascii")))
    except ValueError:
        return None


def _within(end: bytes, top_end: bytes) -> bool:
    # What goes on to the last of all keys is never inside anything.
    return end != FROM_KEY and end <= top_end


def _tail_end(end: bytes, lead: bytes) -> bytes | None:
    return None if end == prefix_end(lead) else end[len(lead) :]


def _form(key: bytes, prefix: bytes, segments: list[bytes]) -> KeyForm:
    name = queue_name(segments[0])
    if name is None:
        raise InvalidKeyError(_bad_name(key, prefix))
    count = len(segments)
    if count == 1:
        return QueueKey(name)
    word = segments[1]
    if word in PRODUCER_WORDS:
        if count > 2 and segments[2]:
            return ProducerKey(name, segments[2], segments[2])
        raise _no_form(key, prefix + b"{name}/" + word + b"/{key}", "a key to put under")
    if word in INPUT_WORDS:
        if count > 3 and segments[2] and segments[3]:
            return ProducerKey(name, segments[2] + b"/" + segments[3], segments[3])
        raise _no_form(key, prefix + b"{name}/" + word + b"/{client}/{key}", "client and key")
    if word in CONSUMER_WORDS:
        return _consumer_form(key, prefix, name, segments)
    if word.isdigit():
        if count > 2 and segments[2]:
            return DeliveryKey(name, _index(word), segments[2])
        raise _no_form(key, prefix + b"{name}/{index}/{key}", "the key after the index")
    raise _no_form(
        key,
        prefix + b"{name}/p/{key}",
        "one of p, i, c or an index after the queue's name; to produce use",
    )


def _consumer_form(key: bytes, prefix: bytes, name: bytes, segments: list[bytes]) -> KeyForm:
    count = len(segments)
    if count > 2 and segments[2]:
        if count == 3:
            return ConsumerKey(name, segments[2])
        if count > 4 and segments[3].isdigit() and segments[4]:
            return DeliveryKey(name, _index(segments[3]), segments[4], segments[2])
        wanted = b"%s{name}/%s/{uuid}/{index}/{key}" % (prefix, segments[1])
        raise _no_form(key, wanted, "index and key after the UUID")
    raise _no_form(key, b"%s{name}/%s/{uuid}" % (prefix, segments[1]), "a UUID to consume as")


def _index(digits: bytes) -> int:
    return int(digits) if len(digits) == limits.INDEX_DIGITS else -1


def _bad_name(key: bytes, prefix: bytes) -> str:
    return (
        f"etcdq: key {_shown(key)} has no valid queue name after {prefix.decode()!r}: it is UTF-8,"
        f" 1 to {limits.QUEUE_NAME_BYTES_MAX} bytes, without control characters, as in"
        f" {prefix.decode()}{{name}}/p/{{key}}"
    )


def _no_form(key: bytes, right: bytes, lacks: str) -> InvalidKeyError:
    return InvalidKeyError(
        f"etcdq: key {_shown(key)} is no key of a queue: it lacks {lacks}: {right.decode()}"
    )


def _shown(key: bytes) -> str:
    text = key[:120].decode("utf-8", "backslashreplace")
    return repr(text) + ("..." if len(key) > 120 else "")
