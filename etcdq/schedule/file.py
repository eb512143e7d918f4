"""The schedule file: YAML to entries. Every wrong value is a line of its own.

timezone: Europe/Berlin
entries:
  - name: poll
    class: JmapPoll
    every: 60s
"""

from collections import Counter
from typing import Annotated, Any, Final, TypeVar

import pydantic
import yaml
from pydantic import PlainValidator

from etcdq.beanstalk import commands
from etcdq.errors import RequestError
from etcdq.schedule import values
from etcdq.schedule.entry import Entry, Overlap, Schedule
from etcdq.schedule.slots import CatchUp, Every, read_cron

QUEUE_MAX: Final = 10
_TOP: Final = ("timezone", "tube", "entries")


class ScheduleError(RequestError, ValueError):
    """A schedule that is not right. `lines` has one for each thing that is wrong."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


def read_schedule(path: str) -> Schedule:
    """Read a schedule.

    Raises:
        ScheduleError: it cannot be read, or is not right; each line names the file, the entry and
            the key.
    """
    try:
        with open(path, encoding="utf-8") as file:
            content = yaml.load(file, _Loader)
    except OSError as error:
        raise ScheduleError([f"{path}: cannot be read: {error.strerror}"]) from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        text = " ".join(str(error).split())
        is_text = not isinstance(error, yaml.constructor.ConstructorError)
        hint = " (a value that begins with * or @ needs quotes)" if is_text else ""
        raise ScheduleError([f"{path}: not YAML: {text}{hint}"]) from None
    try:
        return parse_schedule(content)
    except ScheduleError as error:
        raise ScheduleError([f"{path}: {line}" for line in error.lines]) from None


class _Loader(yaml.SafeLoader):
    """Refuses a key that is there twice, as where the dash of an entry was forgotten."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Read a mapping. PyYAML itself would keep the last value of a key."""
        node = super().compose_mapping_node(anchor)
        keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        for key, count in keys.items():
            if count > 1:
                text = f"the key {key!r} is there {count} times"
                raise yaml.constructor.ConstructorError(None, None, text, node.start_mark)
        return node


def parse_schedule(content: object) -> Schedule:
    """Make a schedule of what a file holds.

    Raises:
        ScheduleError: it is not right.
    """
    if not isinstance(content, dict) or not isinstance(content.get("entries"), list):
        raise ScheduleError(["entries: a list is needed, as in `entries: [{name: poll, ...}]`"])
    wrong = [
        f"unknown key {key!r}; known are {', '.join(_TOP)}" for key in content if key not in _TOP
    ]
    defaults = _read(_Defaults, {k: content[k] for k in _TOP[:2] if k in content}, "", wrong)
    entries = [
        _entry(raw, place, defaults or _Defaults(), wrong)
        for place, raw in enumerate(content["entries"], 1)
    ]
    names = Counter(entry.name for entry in entries if entry is not None)
    wrong += [f"entry {name!r}: name: {n} entries have it" for name, n in names.items() if n > 1]
    if wrong:
        raise ScheduleError(wrong)
    return Schedule(tuple(entry for entry in entries if entry is not None))


def _entry(raw: object, place: int, defaults: "_Defaults", wrong: list[str]) -> Entry | None:
    """Return an entry; None: it is wrong, and `wrong` has got lines that say why."""
    if not isinstance(raw, dict):
        wrong.append(f"entry {place}: not a mapping, as in `name: poll`")
        return None
    where = f"entry {raw['name']!r}: " if isinstance(raw.get("name"), str) else f"entry {place}: "
    given = _read(_RawEntry, raw, where, wrong)
    if given is None:
        return None
    try:
        return given.entry(defaults)
    except ValueError as error:
        wrong.append(f"{where}{error}")
        return None


def _read(model: type["_M"], given: dict[Any, Any], where: str, wrong: list[str]) -> "_M | None":
    texts = {str(key): value for key, value in given.items() if value is not None}
    try:
        return model(**texts)
    except pydantic.ValidationError as error:
        for each in error.errors(include_url=False, include_context=False):
            key = str(each["loc"][0])
            known = (field.alias or name for name, field in model.model_fields.items())
            text = {
                "missing": f"{key}: is needed",
                "extra_forbidden": f"unknown key {key!r}; known are {', '.join(known)}",
            }.get(each["type"], f"{key}: {each['msg'].removeprefix('Value error, ')}")
            wrong.append(where + text)
        return None


# the models -------------------------------------------------------------------------------


class _Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, arbitrary_types_allowed=True, validate_default=False
    )


class _Defaults(_Model):
    timezone: Annotated[str, PlainValidator(values.zone)] = "UTC"
    tube: Annotated[str, PlainValidator(values.key("tube"))] = "default"


class _RawEntry(_Model):
    name: Annotated[str, PlainValidator(values.entry_name)]
    class_: Annotated[str | None, PlainValidator(values.text)] = pydantic.Field(None, alias="class")
    task: Annotated[str | None, PlainValidator(values.text)] = None
    args: Annotated[list[Any], PlainValidator(values.args)] = []
    tube: Annotated[str | None, PlainValidator(values.key("tube"))] = None
    every: Annotated[Every | None, PlainValidator(values.interval)] = None
    cron: Annotated[str | None, PlainValidator(values.text)] = None
    timezone: Annotated[str | None, PlainValidator(values.zone)] = None
    priority: Annotated[int, PlainValidator(values.whole(0))] = commands.PRIORITY
    ttr: Annotated[int, PlainValidator(values.whole(1))] = commands.TTR_S
    idp: Annotated[str | None, PlainValidator(values.tag("idp"))] = None
    con: Annotated[str | None, PlainValidator(values.tag("con"))] = None
    overlap: Annotated[Overlap | None, PlainValidator(values.choice(Overlap))] = None
    queue_max: Annotated[int | None, PlainValidator(values.whole(1, 1000))] = None
    catch_up: Annotated[CatchUp, PlainValidator(values.choice(CatchUp))] = CatchUp.ONE

    def entry(self, defaults: _Defaults) -> Entry:
        """Return the entry, with the defaults of its file.

        Raises:
            ValueError: of keys that contradict each other; the text begins with one of them.
        """
        zone = self.timezone or defaults.timezone
        target = self.class_ or self.task
        if target is None or (self.class_ and self.task):
            raise ValueError("class: exactly one of class and task is needed")
        if (self.every is None) == (self.cron is None):
            raise ValueError("every: exactly one of every and cron is needed")
        if self.idp is not None and self.overlap is not None:
            raise ValueError("overlap: not beside idp, which decides what overlaps by its own key")
        if self.queue_max is not None and self.overlap is not Overlap.QUEUE:
            raise ValueError("queue_max: only beside overlap: queue")
        try:
            timing = self.every or read_cron(self.cron or "", zone)
        except ValueError as error:
            raise ValueError(f"cron: {error}") from None
        return Entry(
            name=self.name,
            kind="class" if self.class_ else "task",
            target=target,
            args=self.args,
            tube=self.tube or defaults.tube,
            timing=timing,
            zone=zone,
            priority=self.priority,
            ttr_s=self.ttr,
            idp=self.idp,
            con=self.con or f"schedule/{self.name}",
            overlap=self.overlap or Overlap.SKIP,
            queue_max=self.queue_max or QUEUE_MAX,
            catch_up=self.catch_up,
        )


_M = TypeVar("_M", bound=_Model)
