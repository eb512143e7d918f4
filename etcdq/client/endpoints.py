"""Where servers are: how an endpoint is written and read."""

import os

from etcdq.endpoint import Endpoint, read_authority
from etcdq.errors import InvalidArgumentError

DEFAULT_ENDPOINT = "127.0.0.1:2379"
DEFAULT_PORT = 2379
ENVIRONMENT_NAME = "ETCDQ_ENDPOINTS"


def parse_endpoint(text: str) -> Endpoint:
    """Read `HOST`, `HOST:PORT`, `http://HOST:PORT` or `unix://PATH`; IPv6 hosts in brackets.

    Raises:
        InvalidArgumentError: of another form, or https.
    """
    scheme, mark, rest = text.strip().rpartition("://")
    if scheme == "unix" or (not mark and rest.startswith("unix:")):
        path = rest.removeprefix("unix:")
        if path:
            return Endpoint("", 0, path)
    if scheme not in ("", "http"):
        raise InvalidArgumentError(f"endpoint {text!r}: only http:// and unix:// are known")
    endpoint = read_authority(rest.removesuffix("/"), DEFAULT_PORT)
    if endpoint is None:
        raise InvalidArgumentError(f"endpoint {text!r} is not of the form HOST:PORT or unix://PATH")
    return endpoint


def choose_endpoints(given: tuple[str, ...]) -> tuple[Endpoint, ...]:
    """Return the endpoints to use: `given`, else those of ETCDQ_ENDPOINTS, else the default.

    Each text may hold several, separated by commas.
    """
    texts = given or (os.environ.get(ENVIRONMENT_NAME, ""),)
    parts = [part for text in texts for part in text.split(",") if part.strip()]
    if given and not parts:
        raise InvalidArgumentError("no endpoint is given")
    return tuple(parse_endpoint(part) for part in parts or [DEFAULT_ENDPOINT])
