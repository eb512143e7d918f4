"""The names of the queues that exist, in the order in which beanstalkd lists its tubes.

beanstalkd keeps tubes in an array: a new one goes to the end, and the last takes the place of one
that goes. `default` is there from the start and never goes. Source: beanstalkd, ms.c and tube.c.
"""

DEFAULT = b"default"


class Tubes:
    """The list of one node."""

    __slots__ = ("_names", "_places")

    def __init__(self) -> None:
        self._names = [DEFAULT]
        self._places = {DEFAULT: 0}

    def add(self, name: bytes) -> None:
        """A queue exists from now on."""
        if name not in self._places:
            self._places[name] = len(self._names)
            self._names.append(name)

    def remove(self, name: bytes) -> None:
        """A queue exists no longer; `default` always does."""
        if name == DEFAULT:
            return
        place = self._places.pop(name)
        last = self._names.pop()
        if last != name:
            self._names[place] = last
            self._places[last] = place

    def names(self) -> list[bytes]:
        """Return all names, in order."""
        return list(self._names)
