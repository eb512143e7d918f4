"""What the operator writes, where it counts, and what a wrong value is answered."""

from pathlib import Path

import pytest

from etcdq.actors.queue.messages import Credit
from etcdq.server.config import ConfigError, NodeConfig, embedded_config, load_config
from etcdq.server.values import BeanstalkAddress, ListenUrl

DURATION = "write 5s, 100ms, 10m, 1h or a number of seconds"


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without variables of whoever runs the tests."""
    for field in NodeConfig.model_fields:
        monkeypatch.delenv(f"ETCDQ_{field.upper()}", raising=False)


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "etcdq.yaml"
    path.write_text(text)
    return str(path)


def test_defaults() -> None:
    """Without any source the documented defaults hold."""
    config = load_config({})

    assert config.name == "default"
    assert config.listen_client_urls == (ListenUrl("127.0.0.1", 2379),)
    assert config.listen_beanstalk == BeanstalkAddress("127.0.0.1", 11300)
    assert (config.max_job_size, config.beanstalk_dialect) == (65_535, "tuber")
    assert config.max_request_bytes == 1_572_864
    assert config.accept_timeout == 5.0
    assert config.consumer_credit == Credit(256, 1_048_576)
    assert (config.max_jobs_size, config.max_jobs_per_queue) == (0, 0)
    assert config.queue_idle == 600.0
    assert config.queue_prefixes == (b"/q/", b"/queue/")
    assert config.drain_timeout == 5.0
    assert (config.log_level, config.log_format) == ("info", "text")


def test_flag_beats_environment_beats_file_beats_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each source counts only where no higher one has a value."""
    path = write(tmp_path, "name: file\naccept-timeout: 1s\nqueue-idle: 2m\n")
    monkeypatch.setenv("ETCDQ_NAME", "environment")
    monkeypatch.setenv("ETCDQ_ACCEPT_TIMEOUT", "2s")

    config = load_config({"config": path, "name": "flag"})

    assert config.name == "flag"
    assert config.accept_timeout == 2.0
    assert config.queue_idle == 120.0
    assert config.drain_timeout == 5.0


def test_environment_names_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """ETCDQ_CONFIG does what --config does."""
    monkeypatch.setenv("ETCDQ_CONFIG", write(tmp_path, "name: file"))

    assert load_config({}).name == "file"


def test_empty_variable_is_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty variable leaves the default, as in etcd."""
    monkeypatch.setenv("ETCDQ_ACCEPT_TIMEOUT", "")

    assert load_config({}).accept_timeout == 5.0


EVERY_SETTING: dict[str, tuple[str, object]] = {
    "name": ("node-1", "node-1"),
    "listen-client-urls": ("http://[::1]:1,unix:///run/e.sock", None),
    "listen-beanstalk": ("unix:/run/b.sock", BeanstalkAddress(path="/run/b.sock")),
    "max-job-size": ("1g", 1 << 30),
    "beanstalk-dialect": ("beanstalkd", "beanstalkd"),
    "max-request-bytes": ("2m", 2_097_152),
    "accept-timeout": ("100ms", 0.1),
    "consumer-credit": ("10,2k", Credit(10, 2_048)),
    "max-jobs-size": ("1g", 1 << 30),
    "max-jobs-per-queue": ("1000", 1_000),
    "queue-idle": ("1h30m", 5_400.0),
    "queue-prefixes": ("/a/,/b/c/", (b"/a/", b"/b/c/")),
    "drain-timeout": ("0", 0.0),
    "log-level": ("warn", "warn"),
    "log-format": ("json", "json"),
}


def test_every_setting_is_in_the_table_above() -> None:
    """No setting goes untested."""
    assert set(EVERY_SETTING) == {
        field.replace("_", "-") for field in NodeConfig.model_fields if field != "config"
    }


@pytest.mark.parametrize("source", ["flag", "environment", "file"])
@pytest.mark.parametrize("flag", list(EVERY_SETTING))
def test_every_setting_from_every_source(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, flag: str, source: str
) -> None:
    """Flag, variable and file key take the same text and give the same value."""
    text, value = EVERY_SETTING[flag]
    field = flag.replace("-", "_")
    flags = {}
    if source == "flag":
        flags[field] = text
    elif source == "environment":
        monkeypatch.setenv(f"ETCDQ_{field.upper()}", text)
    else:
        flags["config"] = write(tmp_path, f"{flag}: '{text}'")

    config = load_config(flags)

    if flag == "listen-client-urls":
        value = (ListenUrl("::1", 1), ListenUrl(path="/run/e.sock"))
    assert getattr(config, field) == value


def test_yaml_numbers_and_lists(tmp_path: Path) -> None:
    """A file may use YAML's own numbers and lists."""
    path = write(
        tmp_path,
        "accept-timeout: 2.5\nconsumer-credit: [5, 1m]\nmax-jobs-size: 100\n"
        "queue-prefixes:\n- /a/\n- /b/\nname:\n",
    )

    config = load_config({"config": path})

    assert config.accept_timeout == 2.5
    assert config.consumer_credit == Credit(5, 1_048_576)
    assert config.max_jobs_size == 100
    assert config.queue_prefixes == (b"/a/", b"/b/")
    assert config.name == "default"


WRONG = [
    ("name", "", "not a name; write 1 to 200 printable characters"),
    ("name", "a\nb", "not a name; write 1 to 200 printable characters"),
    ("accept-timeout", "soon", f"not a duration; {DURATION}"),
    ("accept-timeout", "-1", f"not a duration; {DURATION}"),
    ("accept-timeout", "5 s", f"not a duration; {DURATION}"),
    ("accept-timeout", "inf", f"not a duration; {DURATION}"),
    ("accept-timeout", "1" * 400, f"not a duration; {DURATION}"),
    ("accept-timeout", "0", f"must be longer than 0; {DURATION}"),
    ("queue-idle", "0s", f"must be longer than 0; {DURATION}"),
    ("drain-timeout", "x", f"not a duration; {DURATION}"),
    (
        "max-request-bytes",
        "1.5m",
        "not a size; write bytes as a whole number, or with k, m or g as in 64m",
    ),
    ("max-job-size", "0", "must be between 1 and 1073741824 bytes (1g)"),
    ("max-job-size", "1025m", "must be between 1 and 1073741824 bytes (1g)"),
    ("beanstalk-dialect", "redis", "must be one of tuber, beanstalkd"),
    ("max-request-bytes", "0", "must be between 1 and 33554432 bytes (32m)"),
    ("max-request-bytes", "33m", "must be between 1 and 33554432 bytes (32m)"),
    (
        "max-jobs-size",
        "64mb",
        "not a size; write bytes as a whole number, or with k, m or g as in 64m",
    ),
    ("max-jobs-per-queue", "1k", "not a count; write a whole number, 0 for no limit"),
    (
        "consumer-credit",
        "1,2,3",
        "not a credit; write MESSAGES or MESSAGES,BYTES as in 256,1m (0 for no limit)",
    ),
    (
        "consumer-credit",
        "",
        "not a credit; write MESSAGES or MESSAGES,BYTES as in 256,1m (0 for no limit)",
    ),
    ("queue-prefixes", "", "no prefix; write one or more as in /q/,/queue/"),
    ("queue-prefixes", "/q", "'/q' must begin and end with a slash, with a word between"),
    ("queue-prefixes", "q/", "'q/' must begin and end with a slash, with a word between"),
    ("queue-prefixes", "/", "'/' must begin and end with a slash, with a word between"),
    ("queue-prefixes", "//", "'//' must begin and end with a slash, with a word between"),
    ("queue-prefixes", "/q/,/q/a/", "'/q/' and '/q/a/': one must not contain the other"),
    ("queue-prefixes", "/q/a/,/q/", "'/q/a/' and '/q/': one must not contain the other"),
    ("queue-prefixes", "/q/,/q/", "'/q/' and '/q/': one must not contain the other"),
    ("log-level", "verbose", "must be one of debug, info, warn, error"),
    ("log-format", "console", "must be one of text, json"),
]


@pytest.mark.parametrize(("flag", "value", "text"), WRONG)
def test_wrong_flag(flag: str, value: str, text: str) -> None:
    """A wrong flag is one line: the flag, the value, what would be right."""
    with pytest.raises(ConfigError) as caught:
        load_config({flag.replace("-", "_"): value})

    shown = text if text.startswith(repr(value)) else f"{value!r}: {text}"
    assert str(caught.value) == f"--{flag} {shown}"
    assert "\n" not in str(caught.value)


URL = "write http://HOST:PORT or unix://PATH"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", f"no URL; {URL}"),
        ("127.0.0.1:2379", f"'127.0.0.1:2379' is not a URL; {URL}"),
        ("https://a:1", f"'https://a:1': TLS is not built yet; {URL}"),
        ("unixs://a", f"'unixs://a': TLS is not built yet; {URL}"),
        ("ftp://a:1", f"'ftp://a:1': unknown scheme 'ftp'; {URL}"),
        ("http://a", f"'http://a' does not have the form HOST:PORT; {URL}"),
        ("http://:1", f"'http://:1' does not have the form HOST:PORT; {URL}"),
        ("http://u@a:1", f"'http://u@a:1' does not have the form HOST:PORT; {URL}"),
        ("http://a:1/x", f"'http://a:1/x' must not have a path; {URL}"),
        ("http://a:1?x", f"'http://a:1?x' must not have a path; {URL}"),
        ("http://a:65536", f"'http://a:65536': wrong host or port; {URL}, port 0 to 65535"),
        ("http://a:x", f"'http://a:x': wrong host or port; {URL}, port 0 to 65535"),
        ("http://[::1:1", f"'http://[::1:1': wrong host or port; {URL}, port 0 to 65535"),
        ("unix://", "'unix://': a socket's path has 1 to 107 bytes"),
        ("unix://" + "x" * 108, f"'unix://{'x' * 108}': a socket's path has 1 to 107 bytes"),
        ("http://a:1,http://a:1", "'http://a:1' is there twice; name each URL once"),
    ],
)
def test_wrong_url(value: str, text: str) -> None:
    """Every wrong listen URL is told apart."""
    with pytest.raises(ConfigError) as caught:
        load_config({"listen_client_urls": value})

    shown = text if text.startswith(repr(value)) else f"{value!r}: {text}"
    assert str(caught.value) == f"--listen-client-urls {shown}"


ADDRESS = "write HOST:PORT, unix:PATH, or none for no beanstalk door"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", f"'' does not have the form HOST:PORT; {ADDRESS}"),
        ("a", f"'a' does not have the form HOST:PORT; {ADDRESS}"),
        ("http://a:1", f"'http://a:1' does not have the form HOST:PORT; {ADDRESS}"),
        ("a:1/x", f"'a:1/x' must not have a path; {ADDRESS}"),
        ("a:65536", f"'a:65536': wrong host or port; {ADDRESS}, port 0 to 65535"),
        ("a b:1", f"not an address; {ADDRESS}"),
        ("unix:", "'unix:': a socket's path has 1 to 107 bytes"),
    ],
)
def test_wrong_beanstalk_address(value: str, text: str) -> None:
    """Every wrong address of the beanstalk door is told apart."""
    with pytest.raises(ConfigError) as caught:
        load_config({"listen_beanstalk": value})

    shown = text if text.startswith(repr(value)) else f"{value!r}: {text}"
    assert str(caught.value) == f"--listen-beanstalk {shown}"


def test_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The line names the variable, not the flag, when that is where the value stands."""
    monkeypatch.setenv("ETCDQ_LOG_LEVEL", "loud")

    with pytest.raises(ConfigError) as caught:
        load_config({"config": write(tmp_path, "log-level: info")})

    assert str(caught.value) == "ETCDQ_LOG_LEVEL 'loud': must be one of debug, info, warn, error"


def test_case_of_a_variable_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable in another case is read, and named as it is."""
    monkeypatch.setenv("Etcdq_Log_Level", "loud")

    with pytest.raises(ConfigError, match=r"^Etcdq_Log_Level 'loud': must be one of"):
        load_config({})


def test_variables_of_others_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's ETCDQ_ENDPOINTS is nothing to a node."""
    monkeypatch.setenv("ETCDQ_ENDPOINTS", "127.0.0.1:1")

    assert load_config({}).name == "default"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("queue-idle: true", f"queue-idle True: not a duration; {DURATION}"),
        ("queue-idle: .inf", f"queue-idle inf: not a duration; {DURATION}"),
        ("queue-idle: -1", f"queue-idle -1: not a duration; {DURATION}"),
        ("name: 5", "name 5: not a name; write 1 to 200 printable characters"),
        ("log-level: [info]", "log-level ['info']: must be one of debug, info, warn, error"),
    ],
)
def test_wrong_file_value_is_named(tmp_path: Path, text: str, line: str) -> None:
    """The line names the file and its key when that is where the value stands."""
    path = write(tmp_path, text)

    with pytest.raises(ConfigError) as caught:
        load_config({"config": path})

    assert str(caught.value) == f"{path}: {line}"


@pytest.mark.parametrize("key", ["accept_timeout", "config", "data-dir", "1"])
def test_unknown_file_key(tmp_path: Path, key: str) -> None:
    """A key nobody knows is refused, with those that are known."""
    path = write(tmp_path, f"name: a\n{key}: 1")
    shown = 1 if key == "1" else key

    with pytest.raises(ConfigError) as caught:
        load_config({"config": path})

    assert str(caught.value).startswith(f"{path}: unknown key {shown!r}; known are name, listen-")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("- a", "must be a mapping, as in `name: node-1`"),
        ("just words", "must be a mapping, as in `name: node-1`"),
    ],
)
def test_file_that_is_no_mapping(tmp_path: Path, text: str, line: str) -> None:
    """A file of another shape is refused."""
    path = write(tmp_path, text)

    with pytest.raises(ConfigError) as caught:
        load_config({"config": path})

    assert str(caught.value) == f"--config {path!r}: {line}"


@pytest.mark.parametrize("text", ["a: [", "\tname: x", "a: b: c", "!!python/object:os.x {}"])
def test_file_that_is_no_yaml(tmp_path: Path, text: str) -> None:
    """Broken YAML, and YAML that asks for Python objects, is one line too."""
    path = write(tmp_path, text)

    with pytest.raises(ConfigError) as caught:
        load_config({"config": path})

    assert str(caught.value).startswith(f"--config {path!r}: not YAML: ")
    assert "\n" not in str(caught.value)


def test_file_of_other_bytes(tmp_path: Path) -> None:
    """A file that is no text is told like broken YAML."""
    path = tmp_path / "x"
    path.write_bytes(b"name: \xff")

    with pytest.raises(ConfigError, match="not YAML: 'utf-8' codec"):
        load_config({"config": str(path)})


def test_unreadable_file(tmp_path: Path) -> None:
    """A file that is not there, or is a directory, is named with the reason."""
    missing = str(tmp_path / "missing.yaml")

    with pytest.raises(ConfigError) as caught:
        load_config({"config": missing})
    assert str(caught.value) == f"--config {missing!r}: cannot be read: No such file or directory"
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load_config({"config": str(tmp_path)})


def test_empty_file_is_all_defaults(tmp_path: Path) -> None:
    """A file with comments only changes nothing."""
    assert load_config({"config": write(tmp_path, "# nothing\n")}).name == "default"


def test_embedded_node_reads_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node inside a program has the program's settings and nobody else's."""
    monkeypatch.setenv("ETCDQ_NAME", "environment")
    monkeypatch.setenv("ETCDQ_CONFIG", "/does/not/exist")

    config = embedded_config({"accept_timeout": 0.5, "queue_prefixes": ["/a/"]})

    assert config.name == "default"
    assert config.accept_timeout == 0.5
    assert config.queue_prefixes == (b"/a/",)
    assert config.listen_beanstalk is None


@pytest.mark.parametrize("field", ["data_dir", "config", "log_level", "log_format"])
def test_unknown_embedded_setting(field: str) -> None:
    """What a node inside a program cannot be given is refused by name."""
    with pytest.raises(ConfigError, match=f"unknown setting '{field}'; known are name, listen_"):
        embedded_config({field: "x"})


def test_wrong_embedded_setting() -> None:
    """A program is told by the name it used."""
    with pytest.raises(ConfigError) as caught:
        embedded_config({"accept_timeout": -1})

    assert str(caught.value) == f"accept_timeout -1: not a duration; {DURATION}"
