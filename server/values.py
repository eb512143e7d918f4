"""How one value of the configuration is written: durations, sizes, credit, prefixes, addresses.

Every function takes what a flag, a variable, a YAML file or a keyword argument gives and returns
the value, or raises ValueError with a text that says what would be right.
"""

import math
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from etcdq.actors import limits
from etcdq.actors.queue.messages import Credit

_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h))+")
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_SIZE = re.compile(r"([0-9]+)([kmgKMG]?)")
_SIZE_FACTOR = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True, slots=True)
class ListenUrl:
    """Where to listen: a host and port, or the path of a socket (then `host` is "")."""

    host: str = ""
    port: int = 0
    path: str = ""

    def __str__(self) -> str:
        if self.path:
            return f"unix://{self.path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


class BeanstalkAddress(ListenUrl):
    """The same for the beanstalk door, in the words of its clients: HOST:PORT or unix:PATH."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"unix:{self.path}" if self.path else f"{host}:{self.port}"


def duration_s(value: Any) -> float:
    """Return seconds: 0 or more, from `5s`, `100ms`, `1h30m` or a number of seconds."""
    text = _text(value)
    if _NUMBER.fullmatch(text):
        seconds = float(text)
    elif _DURATION.fullmatch(text):
        seconds = sum(float(n) * _UNIT_S[unit] for n, unit in _DURATION_PART.findall(text))
    else:
        seconds = math.inf
    if not math.isfinite(seconds):
        raise ValueError("not a duration; write 5s, 100ms, 10m, 1h or a number of seconds")
    return seconds


def positive_duration_s(value: Any) -> float:
    """Return seconds, more than 0."""
    seconds = duration_s(value)
    if seconds == 0:
        raise ValueError("must be longer than 0; write 5s, 100ms, 10m, 1h or a number of seconds")
    return seconds


def count(value: Any) -> int:
    """Return a whole number, 0 or more."""
    text = _text(value)
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise ValueError("not a count; write a whole number, 0 for no limit")
    return int(text)


def size_bytes(value: Any) -> int:
    """Return bytes, from a whole number with an optional suffix k, m or g (powers of 1024)."""
    match = _SIZE.fullmatch(_text(value))
    if match is None or len(match[1]) > 18:
        raise ValueError("not a size; write bytes as a whole number, or with k, m or g as in 64m")
    return int(match[1]) * _SIZE_FACTOR[match[2].lower()]


def request_bytes(value: Any) -> int:
    """Return the limit of one request, in bytes."""
    size = size_bytes(value)
    if not 1 <= size <= limits.REQUEST_BYTES_LIMIT:
        raise ValueError(f"must be between 1 and {limits.REQUEST_BYTES_LIMIT} bytes (32m)")
    return size


def job_bytes(value: Any) -> int:
    """Return the limit of a job's body over the beanstalk door, in bytes."""
    size = size_bytes(value)
    if not 1 <= size <= limits.JOB_BYTES_LIMIT:
        raise ValueError(f"must be between 1 and {limits.JOB_BYTES_LIMIT} bytes (1g)")
    return size


def credit(value: Any) -> Credit:
    """Return a consumer's credit from `MESSAGES[,BYTES]`; 0 means no limit."""
    parts = items(value)
    try:
        if not 1 <= len(parts) <= 2:
            raise ValueError
        messages = count(parts[0])
        body_bytes = size_bytes(parts[1]) if len(parts) == 2 else limits.CONSUMER_CREDIT_BYTES
    except ValueError:
        raise ValueError(
            "not a credit; write MESSAGES or MESSAGES,BYTES as in 256,1m (0 for no limit)"
        ) from None
    return Credit(messages=messages, body_bytes=body_bytes)


def node_name(value: Any) -> str:
    """Return the name a node goes by: 1 to 200 characters, none of them a control character."""
    if not isinstance(value, str) or not value or len(value) > 200 or not value.isprintable():
        raise ValueError("not a name; write 1 to 200 printable characters")
    return value


def queue_prefixes(value: Any) -> tuple[bytes, ...]:
    """Return the prefixes under which keys are queues; the first is the canonical spelling."""
    prefixes = items(value)
    if not prefixes:
        raise ValueError("no prefix; write one or more as in /q/,/queue/")
    for prefix in prefixes:
        inner = prefix[1:-1]
        slashed = prefix.startswith("/") and prefix.endswith("/")
        if not (slashed and inner.strip("/") and prefix.isprintable()):
            raise ValueError(f"{prefix!r} must begin and end with a slash, with a word between")
    for index, prefix in enumerate(prefixes):
        for other in prefixes[index + 1 :]:
            if prefix.startswith(other) or other.startswith(prefix):
                raise ValueError(f"{prefix!r} and {other!r}: one must not contain the other")
    return tuple(prefix.encode() for prefix in prefixes)


def listen_urls(value: Any) -> tuple[ListenUrl, ...]:
    """Return where to listen, from URLs separated by commas."""
    urls = tuple(_listen_url(text) for text in items(value))
    if not urls:
        raise ValueError("no URL; write http://HOST:PORT or unix://PATH")
    for url in urls:
        if urls.count(url) > 1 and (url.path or url.port):
            raise ValueError(f"{str(url)!r} is there twice; name each URL once")
    return urls


def beanstalk_address(value: Any) -> BeanstalkAddress | None:
    """Return where the beanstalk door listens: HOST:PORT or unix:PATH; None for `none`."""
    right = "write HOST:PORT, unix:PATH, or none for no beanstalk door"
    text = _text(value)
    if text == "none":
        return None
    if not text.isprintable() or " " in text:
        raise ValueError(f"not an address; {right}")
    if text.startswith("unix:"):
        return BeanstalkAddress(path=_socket_path(text, text.removeprefix("unix:")))
    host, port = _host_and_port(text, f"//{text}", right)
    return BeanstalkAddress(host, port)


def choice(*words: str) -> Any:
    """Return a function that takes one of `words` and nothing else."""

    def choose(value: Any) -> str:
        if value not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return str(value)

    return choose


def items(value: Any) -> list[str]:
    """Split a comma-separated text, or take a list as it is; blanks around items do not count."""
    parts = value if isinstance(value, list | tuple) else _text(value).split(",")
    stripped = [_text(part).strip() for part in parts]
    return [] if stripped == [""] else stripped


def _listen_url(text: str) -> ListenUrl:
    right = "write http://HOST:PORT or unix://PATH"
    scheme, separator, rest = text.partition("://")
    if not separator or not text.isprintable() or " " in text:
        raise ValueError(f"{text!r} is not a URL; {right}")
    if scheme in ("https", "unixs"):
        raise ValueError(f"{text!r}: TLS is not built yet; {right}")
    if scheme == "unix":
        return ListenUrl(path=_socket_path(text, rest))
    if scheme != "http":
        raise ValueError(f"{text!r}: unknown scheme {scheme!r}; {right}")
    host, port = _host_and_port(text, text, right)
    return ListenUrl(host=host, port=port)


def _socket_path(text: str, path: str) -> str:
    if not 1 <= len(path.encode()) <= limits.SOCKET_PATH_BYTES_MAX:
        raise ValueError(f"{text!r}: a socket's path has 1 to {limits.SOCKET_PATH_BYTES_MAX} bytes")
    return path


def _host_and_port(text: str, url: str, right: str) -> tuple[str, int]:
    try:
        split = urlsplit(url)
        host, port = split.hostname, split.port
    except ValueError:
        raise ValueError(f"{text!r}: wrong host or port; {right}, port 0 to 65535") from None
    if not host or port is None or "@" in split.netloc:
        raise ValueError(f"{text!r} does not have the form HOST:PORT; {right}")
    if split.path.strip("/") or split.query or split.fragment:
        raise ValueError(f"{text!r} must not have a path; {right}")
    return host, port


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return repr(value)
    return str(value)
