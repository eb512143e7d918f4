"""What can be wrong with a revision; the texts are etcd's own."""

from etcdq.actors.errors import RequestError


class FutureRevisionError(RequestError):
    """The revision asked for has not come yet: ask for an earlier one, or for now (0)."""

    def __init__(self) -> None:
        super().__init__("etcdserver: mvcc: required revision is a future revision")


class CompactedError(RequestError):
    """The revision asked for is forgotten: ask for `compact_revision` or a later one."""

    def __init__(self, compact_revision: int) -> None:
        super().__init__("etcdserver: mvcc: required revision has been compacted")
        self.compact_revision = compact_revision


class KeyNotFoundError(RequestError):
    """A put was to keep the value or lease of a key that is not there: put it whole first."""

    def __init__(self) -> None:
        super().__init__("etcdserver: key not found")


class LeaseNotFoundError(RequestError):
    """There is no such lease (any more): grant one."""

    def __init__(self) -> None:
        super().__init__("etcdserver: requested lease not found")
