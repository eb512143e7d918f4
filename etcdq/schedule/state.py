"""What a scheduler knows of its entries, in a file, so that its next start can catch up."""

import os

import msgspec

from etcdq.schedule.agenda import Record


class _File(msgspec.Struct):
    entries: dict[str, Record]


def load_state(path: str) -> dict[str, Record]:
    """Return what an earlier scheduler left; nothing if there was none.

    Raises:
        OSError: the file is there and cannot be read.
        ValueError: it holds something else.
    """
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=_File).entries
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None


def save_state(path: str, records: dict[str, Record]) -> None:
    """Write the file anew, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    beside = f"{path}.{os.getpid()}"  # schedulers may share the file
    with open(beside, "wb") as file:
        file.write(msgspec.json.encode(_File(records)))
    os.replace(beside, path)
