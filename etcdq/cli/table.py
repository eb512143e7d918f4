"""Plain tables, as wide as their content: they can be read, cut and grepped."""

import base64
from collections.abc import Sequence

BODY_CHARS_MAX = 60


def table(
    head: Sequence[str], rows: Sequence[Sequence[object]], right: Sequence[bool] | None = None
) -> str:
    """Return lines with aligned columns.

    Args:
        head: of the columns.
        rows: of as many cells.
        right: which columns are aligned to the right; without it those that have numbers only.
    """
    lines = [list(head), *([shown(cell) for cell in row] for row in rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
    right = right or [
        bool(rows) and all(isinstance(row[place], int | float) for row in rows)
        for place in range(len(head))
    ]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def shown(cell: object) -> str:
    """Return a value as people read it."""
    if isinstance(cell, float):
        return f"{cell:.1f}"
    if isinstance(cell, bytes):
        text = cell[: BODY_CHARS_MAX + 1].decode("utf-8", "backslashreplace")
        text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
        return text if len(text) <= BODY_CHARS_MAX else text[:BODY_CHARS_MAX] + "..."
    return str(cell)


def json_bytes(name: str, value: bytes) -> dict[str, str | None]:
    """Return bytes for JSON: as text (null where they are none), and always as base64."""
    try:
        text: str | None = value.decode()
    except UnicodeDecodeError:
        text = None
    return {name: text, f"{name}_base64": base64.b64encode(value).decode()}
