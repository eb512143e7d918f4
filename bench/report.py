"""The table and the JSON of a run."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from bench.processes import ETCD_NO_FSYNC
from bench.rows import GENERATOR, Row, quotient, row

_BUSY = 0.9
_HEADINGS = {ETCD_NO_FSYNC: "no fsync"}


@dataclass(slots=True)
class Results:
    """Every figure measured, by row and server, in the order they came; and what failed.

    `generators` is the CPU share of the load generator where it is known: near 1, a figure is
    the generator's and not the server's.
    """

    figures: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    generators: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def add(self, kind: str, figures: dict[str, float]) -> None:
        """Note one repetition of some rows on a server."""
        for name, value in figures.items():
            row_name = name.removesuffix(GENERATOR)
            into = self.figures if name == row_name else self.generators
            into.setdefault(row_name, {}).setdefault(kind, []).append(value)

    def median(self, name: str, kind: str) -> float | None:
        """The figure of a row: the median of its repetitions, None where there is none."""
        values = self.figures.get(name, {}).get(kind)
        return median(values) if values else None


def busy_generators(results: Results) -> list[str]:
    """Where the load generator had hardly any time to spare, in one sentence each."""
    return [
        f"{name} on {kind}: the generator used {median(shares):.0%} of its CPU"
        for name, by_kind in results.generators.items()
        for kind, shares in by_kind.items()
        if median(shares) > _BUSY
    ]


def table(results: Results) -> str:
    """A table for each set of servers, one line a row; a ratio is etcdq / the server before it."""
    rows = [row(name) for name in results.figures]
    tables = []
    for kinds in dict.fromkeys(each.kinds for each in rows):
        lines = [_line(results, each) for each in rows if each.kinds == kinds]
        tables.append(_aligned([_headings(kinds), *lines]))
    return "\n\n".join(tables)


def _headings(kinds: tuple[str, ...]) -> list[str]:
    peers = [text for kind in kinds[1:] for text in (_heading(kind), "ratio")]
    return ["row", "unit", _heading(kinds[0]), *peers, "target", "met"]


def _heading(kind: str) -> str:
    return _HEADINGS.get(kind, kind)


def _aligned(lines: list[list[str]]) -> str:
    columns = len(lines[0])
    widths = [max(len(line[i]) for line in lines) for i in range(columns)]
    text = []
    for line in lines:
        cells = (
            # Figures and ratios to the right, words to the left.
            cell.rjust(width) if 2 <= i < columns - 2 else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        text.append("  ".join(cells).rstrip())
    return "\n".join(text)


def _line(results: Results, of: Row) -> list[str]:
    ours, *theirs = (results.median(of.name, kind) for kind in of.kinds)
    met = of.target.met(ours, of.rival(theirs)) if of.target else None
    peers = [text for value in theirs for text in (_figure(value), _ratio(ours, value))]
    met_word = {True: "yes", False: "NO", None: "-"}[met]
    return [of.name, of.unit, _figure(ours), *peers, str(of.target or "-"), met_word]


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def _ratio(ours: float | None, theirs: float | None) -> str:
    value = quotient(ours, theirs)
    return "-" if value is None else f"{value:.2f}x"


def write_json(path: Path, results: Results, about: dict[str, Any]) -> None:
    """Write medians, every single figure, targets and what the run was made on."""
    rows = {
        name: {
            "unit": row(name).unit,
            "target": str(row(name).target) if row(name).target else None,
            "median": {
                kind: results.median(name, kind) for kind in row(name).kinds if kind in by_kind
            },
            "all": by_kind,
        }
        for name, by_kind in results.figures.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "about": about,
        "rows": rows,
        "generator_cpu": results.generators,
        "failures": results.failures,
    }
    path.write_text(json.dumps(document, indent=1) + "\n")
