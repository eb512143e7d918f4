"""What the operator may choose: one model, filled from flags, environment, file and defaults.

The sources rank in this order; each flag `--some-name` is also the variable `ETCDQ_SOME_NAME`
and the key `some-name` of the YAML file.
"""

import os
from typing import Annotated, Any

import pydantic
from pydantic import PlainValidator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from etcdq.actors import limits
from etcdq.actors.queue.messages import Credit
from etcdq.server import values
from etcdq.server.beanstalk.door import Dialect
from etcdq.server.values import BeanstalkAddress, ListenUrl

ENVIRONMENT_PREFIX = "ETCDQ_"

PROCESS_FIELDS = ("config", "log_level", "log_format")
"""Settings of a process; a node inside somebody's program has no use for them."""

Duration = Annotated[float, PlainValidator(values.positive_duration_s)]
BeanstalkListen = Annotated[BeanstalkAddress | None, PlainValidator(values.beanstalk_address)]


class ConfigError(ValueError):
    """A wrong value; the text is one line that names where it stands and what would be right."""


class NodeConfig(BaseSettings):
    """One node's settings. Durations are seconds, sizes bytes, 0 of a `max_jobs_*` is no limit."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX,
        env_ignore_empty=True,
        enable_decoding=False,
        case_sensitive=False,
        extra="forbid",
        validate_default=False,
        frozen=True,
        arbitrary_types_allowed=True,
    )

    config: str = ""
    name: Annotated[str, PlainValidator(values.node_name)] = "default"
    listen_client_urls: Annotated[tuple[ListenUrl, ...], PlainValidator(values.listen_urls)] = (
        ListenUrl("127.0.0.1", 2379),
    )
    listen_beanstalk: BeanstalkListen = BeanstalkAddress("127.0.0.1", 11300)
    max_job_size: Annotated[int, PlainValidator(values.job_bytes)] = limits.JOB_BYTES_MAX
    beanstalk_dialect: Annotated[Dialect, PlainValidator(values.choice("tuber", "beanstalkd"))] = (
        "tuber"
    )
    max_request_bytes: Annotated[int, PlainValidator(values.request_bytes)] = (
        limits.REQUEST_BYTES_MAX
    )
    accept_timeout: Duration = limits.ACCEPT_TIMEOUT_S
    consumer_credit: Annotated[Credit, PlainValidator(values.credit)] = Credit()
    max_jobs_size: Annotated[int, PlainValidator(values.size_bytes)] = 0
    max_jobs_per_queue: Annotated[int, PlainValidator(values.count)] = 0
    queue_idle: Duration = limits.QUEUE_IDLE_S
    queue_prefixes: Annotated[tuple[bytes, ...], PlainValidator(values.queue_prefixes)] = (
        b"/q/",
        b"/queue/",
    )
    drain_timeout: Annotated[float, PlainValidator(values.duration_s)] = limits.DRAIN_TIMEOUT_S
    log_level: Annotated[str, PlainValidator(values.choice("debug", "info", "warn", "error"))] = (
        "info"
    )
    log_format: Annotated[str, PlainValidator(values.choice("text", "json"))] = "text"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Rank the sources: flags, environment, the file that one of them names."""
        path = {**env_settings(), **init_settings()}.get("config", "")
        return init_settings, env_settings, YamlFile(settings_cls, path)


class EmbeddedConfig(NodeConfig):
    """The settings of a node inside somebody's own program: only what the program says."""

    listen_beanstalk: BeanstalkListen = None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Keep the environment of the program out of it."""
        return (init_settings,)


class YamlFile(PydanticBaseSettingsSource):
    """The YAML file as a source: a mapping with the flags' names as keys; no path, no values."""

    def __init__(self, settings_cls: type[BaseSettings], path: str) -> None:
        super().__init__(settings_cls)
        self._path = path

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        """Never called: pydantic wants it defined, the file is read whole by `__call__`."""
        raise NotImplementedError

    def __call__(self) -> dict[str, Any]:
        return read_file(self._path) if self._path else {}


def load_config(flags: dict[str, Any]) -> NodeConfig:
    """Return the settings of a daemon.

    Args:
        flags: field name to text, only those that were given.

    Raises:
        ConfigError: the first wrong value.
    """
    try:
        return NodeConfig(**flags)
    except pydantic.ValidationError as error:
        raise _explain(error, lambda field: _place(field, flags)) from None


def embedded_config(settings: dict[str, Any]) -> NodeConfig:
    """Return the settings of a node inside a program: `settings` and defaults, nothing else.

    Raises:
        ConfigError: the first wrong or unknown setting.
    """
    for field in PROCESS_FIELDS:
        if field in settings:
            raise _unknown(field)
    try:
        return EmbeddedConfig(**settings)
    except pydantic.ValidationError as error:
        raise _explain(error, lambda field: field) from None


def read_file(path: str) -> dict[str, Any]:
    """Return the values of a configuration file by field name; empty ones are left out.

    Raises:
        ConfigError: unreadable, no YAML, not a mapping, or a key nobody knows.
    """
    import yaml

    try:
        with open(path, encoding="utf-8") as file:
            content = yaml.safe_load(file)
    except OSError as error:
        raise ConfigError(f"--config {path!r}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"--config {path!r}: not YAML: {_one_line(error)}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(f"--config {path!r}: must be a mapping, as in `name: node-1`")
    known = [_dashed(field) for field in NodeConfig.model_fields if field != "config"]
    for key in content:
        if key not in known:
            raise ConfigError(f"{path}: unknown key {key!r}; known are {', '.join(known)}")
    return {key.replace("-", "_"): value for key, value in content.items() if value is not None}


def _explain(error: pydantic.ValidationError, place: Any) -> ConfigError:
    first = error.errors(include_url=False, include_context=False)[0]
    field = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        return _unknown(field)
    text = first["msg"].removeprefix("Value error, ")
    value = repr(first["input"])
    return ConfigError(f"{place(field)} {text if text.startswith(value) else f'{value}: {text}'}")


def _unknown(field: str) -> ConfigError:
    known = ", ".join(name for name in NodeConfig.model_fields if name not in PROCESS_FIELDS)
    return ConfigError(f"unknown setting {field!r}; known are {known}")


def _place(field: str, flags: dict[str, Any]) -> str:
    if field in flags:
        return f"--{_dashed(field)}"
    path = flags.get("config") or os.environ.get(_variable("config"))
    return _variable(field) or f"{path}: {_dashed(field)}"


def _variable(field: str) -> str:
    """Return the variable that sets a field, "" if none does; their case does not count."""
    name = ENVIRONMENT_PREFIX + field.upper()
    return next((key for key, value in os.environ.items() if value and key.upper() == name), "")


def _dashed(field: str) -> str:
    return field.replace("_", "-")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
