"""Every number that bounds something, with its reason, in one room."""

# node ---------------------------------------------------------------------------------------

REQUEST_BYTES_MAX = 1_572_864
"""Default of `--max-request-bytes`: etcd's own 1.5 MiB."""

ACCEPT_TIMEOUT_S = 5.0
"""A consumer that makes no progress with a message for this long is dropped (rule 9)."""

CONSUMER_CREDIT_MESSAGES = 256
"""Unacknowledged messages a consumer holds at most: what a dead one takes with it stays small."""

CONSUMER_CREDIT_BYTES = 1_048_576
"""Bytes of them; one message is always allowed."""

QUEUE_IDLE_S = 600.0
"""A queue without job, consumer or use for this long is reaped (rule 16)."""

DRAIN_TIMEOUT_S = 5.0
"""How long a stopping node waits for running calls."""

# queue --------------------------------------------------------------------------------------

QUEUE_NAME_BYTES_MAX = 200
"""beanstalkd's limit for tube names; a queue and a tube of one name are one thing."""

PRIORITY_DEFAULT = 1024
"""Priority of an etcd put: beanstalkd clients call jobs below it urgent."""

INDEX_DIGITS = 16
"""Digits of an index in a delivery key: microseconds since 1970 fit until the year 2286."""

# delivery -----------------------------------------------------------------------------------

RESPONSE_EVENTS_BYTES_MAX = 1_048_576
"""A watch response carries at most this many bytes of events, or one message."""

EVENT_OVERHEAD_BYTES = 96
"""What an event adds to its key and body on the wire, at most: field tags, lengths, revisions."""
