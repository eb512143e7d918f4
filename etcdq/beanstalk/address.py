"""Where a beanstalk server is: how its address is written and read."""

import os
from typing import Final

from etcdq.endpoint import Endpoint, read_authority
from etcdq.errors import InvalidArgumentError

DEFAULT_ADDRESS: Final = "127.0.0.1:11300"
DEFAULT_PORT: Final = 11300
ENVIRONMENT_NAMES: Final = ("ETCDQ_BEANSTALK_URL", "TUBER_URL")
"""Variables that may hold the address, the first one that does wins."""

_SCHEMES: Final = frozenset({"", "beanstalk", "tuber", "tcp"})


def parse_address(text: str) -> Endpoint:
    """Read `HOST`, `HOST:PORT`, `beanstalk://…`, `tuber://…`, `tcp://…` or `unix:PATH`.

    Raises:
        InvalidArgumentError: of another form.
    """
    given = text.strip()
    endpoint = None
    if given.startswith("unix:"):
        path = given.removeprefix("unix:").removeprefix("//")
        endpoint = Endpoint("", 0, path) if path else None
    else:
        scheme, _, rest = given.rpartition("://")
        if scheme in _SCHEMES:
            endpoint = read_authority(rest.removesuffix("/"), DEFAULT_PORT)
    if endpoint is None:
        raise InvalidArgumentError(
            f"address {text!r} is not of the form HOST:PORT, beanstalk://HOST:PORT or unix:PATH"
        )
    return endpoint


def choose_address(given: str | None) -> Endpoint:
    """Return where to connect: `given`, else what the environment says, else the default.

    Raises:
        InvalidArgumentError: that is no address.
    """
    if given is not None:
        return parse_address(given)
    named = (os.environ.get(name) for name in ENVIRONMENT_NAMES)
    return parse_address(next((text for text in named if text), DEFAULT_ADDRESS))
