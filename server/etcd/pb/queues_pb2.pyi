from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JobState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    READY: _ClassVar[JobState]
    RESERVED: _ClassVar[JobState]
    DELAYED: _ClassVar[JobState]
    BURIED: _ClassVar[JobState]
READY: JobState
RESERVED: JobState
DELAYED: JobState
BURIED: JobState

class ListRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListResponse(_message.Message):
    __slots__ = ("queues",)
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedCompositeFieldContainer[QueueSummary]
    def __init__(self, queues: _Optional[_Iterable[_Union[QueueSummary, _Mapping]]] = ...) -> None: ...

class QueueSummary(_message.Message):
    __slots__ = ("name", "ready", "reserved", "delayed", "buried", "consumers", "waiting")
    NAME_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    RESERVED_FIELD_NUMBER: _ClassVar[int]
    DELAYED_FIELD_NUMBER: _ClassVar[int]
    BURIED_FIELD_NUMBER: _ClassVar[int]
    CONSUMERS_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    name: str
    ready: int
    reserved: int
    delayed: int
    buried: int
    consumers: int
    waiting: int
    def __init__(self, name: _Optional[str] = ..., ready: _Optional[int] = ..., reserved: _Optional[int] = ..., delayed: _Optional[int] = ..., buried: _Optional[int] = ..., consumers: _Optional[int] = ..., waiting: _Optional[int] = ...) -> None: ...

class ShowRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ShowResponse(_message.Message):
    __slots__ = ("summary", "urgent", "puts", "deliveries", "acknowledgements", "deletes", "kicks", "dropped_consumers", "body_bytes", "oldest_age_s", "paused_s", "dispatcher", "consumers", "limits", "tube", "oversized_head")
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    URGENT_FIELD_NUMBER: _ClassVar[int]
    PUTS_FIELD_NUMBER: _ClassVar[int]
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGEMENTS_FIELD_NUMBER: _ClassVar[int]
    DELETES_FIELD_NUMBER: _ClassVar[int]
    KICKS_FIELD_NUMBER: _ClassVar[int]
    DROPPED_CONSUMERS_FIELD_NUMBER: _ClassVar[int]
    BODY_BYTES_FIELD_NUMBER: _ClassVar[int]
    OLDEST_AGE_S_FIELD_NUMBER: _ClassVar[int]
    PAUSED_S_FIELD_NUMBER: _ClassVar[int]
    DISPATCHER_FIELD_NUMBER: _ClassVar[int]
    CONSUMERS_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    TUBE_FIELD_NUMBER: _ClassVar[int]
    OVERSIZED_HEAD_FIELD_NUMBER: _ClassVar[int]
    summary: QueueSummary
    urgent: int
    puts: int
    deliveries: int
    acknowledgements: int
    deletes: int
    kicks: int
    dropped_consumers: int
    body_bytes: int
    oldest_age_s: float
    paused_s: float
    dispatcher: str
    consumers: _containers.RepeatedCompositeFieldContainer[Consumer]
    limits: Limits
    tube: Tube
    oversized_head: bool
    def __init__(self, summary: _Optional[_Union[QueueSummary, _Mapping]] = ..., urgent: _Optional[int] = ..., puts: _Optional[int] = ..., deliveries: _Optional[int] = ..., acknowledgements: _Optional[int] = ..., deletes: _Optional[int] = ..., kicks: _Optional[int] = ..., dropped_consumers: _Optional[int] = ..., body_bytes: _Optional[int] = ..., oldest_age_s: _Optional[float] = ..., paused_s: _Optional[float] = ..., dispatcher: _Optional[str] = ..., consumers: _Optional[_Iterable[_Union[Consumer, _Mapping]]] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., tube: _Optional[_Union[Tube, _Mapping]] = ..., oversized_head: _Optional[bool] = ...) -> None: ...

class Consumer(_message.Message):
    __slots__ = ("uuid", "peer", "held_messages", "held_bytes", "credit_messages", "credit_bytes", "since_s")
    UUID_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    HELD_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    HELD_BYTES_FIELD_NUMBER: _ClassVar[int]
    CREDIT_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    CREDIT_BYTES_FIELD_NUMBER: _ClassVar[int]
    SINCE_S_FIELD_NUMBER: _ClassVar[int]
    uuid: str
    peer: str
    held_messages: int
    held_bytes: int
    credit_messages: int
    credit_bytes: int
    since_s: float
    def __init__(self, uuid: _Optional[str] = ..., peer: _Optional[str] = ..., held_messages: _Optional[int] = ..., held_bytes: _Optional[int] = ..., credit_messages: _Optional[int] = ..., credit_bytes: _Optional[int] = ..., since_s: _Optional[float] = ...) -> None: ...

class Tube(_message.Message):
    __slots__ = ("using", "pauses", "reserves", "timeouts", "buries", "bury_rate", "processing", "processing_fast", "processing_slow", "processing_p50_s", "processing_p95_s", "processing_p99_s", "queueing")
    USING_FIELD_NUMBER: _ClassVar[int]
    PAUSES_FIELD_NUMBER: _ClassVar[int]
    RESERVES_FIELD_NUMBER: _ClassVar[int]
    TIMEOUTS_FIELD_NUMBER: _ClassVar[int]
    BURIES_FIELD_NUMBER: _ClassVar[int]
    BURY_RATE_FIELD_NUMBER: _ClassVar[int]
    PROCESSING_FIELD_NUMBER: _ClassVar[int]
    PROCESSING_FAST_FIELD_NUMBER: _ClassVar[int]
    PROCESSING_SLOW_FIELD_NUMBER: _ClassVar[int]
    PROCESSING_P50_S_FIELD_NUMBER: _ClassVar[int]
    PROCESSING_P95_S_FIELD_NUMBER: _ClassVar[int]
    PROCESSING_P99_S_FIELD_NUMBER: _ClassVar[int]
    QUEUEING_FIELD_NUMBER: _ClassVar[int]
    using: int
    pauses: int
    reserves: int
    timeouts: int
    buries: int
    bury_rate: float
    processing: Times
    processing_fast: Times
    processing_slow: Times
    processing_p50_s: float
    processing_p95_s: float
    processing_p99_s: float
    queueing: Times
    def __init__(self, using: _Optional[int] = ..., pauses: _Optional[int] = ..., reserves: _Optional[int] = ..., timeouts: _Optional[int] = ..., buries: _Optional[int] = ..., bury_rate: _Optional[float] = ..., processing: _Optional[_Union[Times, _Mapping]] = ..., processing_fast: _Optional[_Union[Times, _Mapping]] = ..., processing_slow: _Optional[_Union[Times, _Mapping]] = ..., processing_p50_s: _Optional[float] = ..., processing_p95_s: _Optional[float] = ..., processing_p99_s: _Optional[float] = ..., queueing: _Optional[_Union[Times, _Mapping]] = ...) -> None: ...

class Times(_message.Message):
    __slots__ = ("average_s", "min_s", "max_s", "samples")
    AVERAGE_S_FIELD_NUMBER: _ClassVar[int]
    MIN_S_FIELD_NUMBER: _ClassVar[int]
    MAX_S_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    average_s: float
    min_s: float
    max_s: float
    samples: int
    def __init__(self, average_s: _Optional[float] = ..., min_s: _Optional[float] = ..., max_s: _Optional[float] = ..., samples: _Optional[int] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ("jobs_max", "jobs_bytes_max", "request_bytes_max")
    JOBS_MAX_FIELD_NUMBER: _ClassVar[int]
    JOBS_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    REQUEST_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    jobs_max: int
    jobs_bytes_max: int
    request_bytes_max: int
    def __init__(self, jobs_max: _Optional[int] = ..., jobs_bytes_max: _Optional[int] = ..., request_bytes_max: _Optional[int] = ...) -> None: ...

class KickRequest(_message.Message):
    __slots__ = ("name", "bound")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    name: str
    bound: int
    def __init__(self, name: _Optional[str] = ..., bound: _Optional[int] = ...) -> None: ...

class KickResponse(_message.Message):
    __slots__ = ("kicked",)
    KICKED_FIELD_NUMBER: _ClassVar[int]
    kicked: int
    def __init__(self, kicked: _Optional[int] = ...) -> None: ...

class PeekRequest(_message.Message):
    __slots__ = ("name", "state", "limit")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    name: str
    state: JobState
    limit: int
    def __init__(self, name: _Optional[str] = ..., state: _Optional[_Union[JobState, str]] = ..., limit: _Optional[int] = ...) -> None: ...

class PeekResponse(_message.Message):
    __slots__ = ("jobs",)
    JOBS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[Job]
    def __init__(self, jobs: _Optional[_Iterable[_Union[Job, _Mapping]]] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ("job_id", "index", "key", "body", "priority", "delay_s", "ttr_s", "state", "age_s", "holder")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    DELAY_S_FIELD_NUMBER: _ClassVar[int]
    TTR_S_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    AGE_S_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    job_id: int
    index: int
    key: bytes
    body: bytes
    priority: int
    delay_s: float
    ttr_s: float
    state: JobState
    age_s: float
    holder: str
    def __init__(self, job_id: _Optional[int] = ..., index: _Optional[int] = ..., key: _Optional[bytes] = ..., body: _Optional[bytes] = ..., priority: _Optional[int] = ..., delay_s: _Optional[float] = ..., ttr_s: _Optional[float] = ..., state: _Optional[_Union[JobState, str]] = ..., age_s: _Optional[float] = ..., holder: _Optional[str] = ...) -> None: ...

class PauseRequest(_message.Message):
    __slots__ = ("name", "pause_s")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PAUSE_S_FIELD_NUMBER: _ClassVar[int]
    name: str
    pause_s: float
    def __init__(self, name: _Optional[str] = ..., pause_s: _Optional[float] = ...) -> None: ...

class PauseResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PurgeRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class PurgeResponse(_message.Message):
    __slots__ = ("deleted",)
    DELETED_FIELD_NUMBER: _ClassVar[int]
    deleted: int
    def __init__(self, deleted: _Optional[int] = ...) -> None: ...
