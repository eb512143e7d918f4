"""Every number that bounds something, with its reason, in one room.

Rules are those of docs/semantics.md section 2.
"""

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

TURNS_IN_PLACE_MAX = 4
"""Times a session goes to and fro with the node's actors before others run: a call and its answer,
a delivery and its being written."""

# queue --------------------------------------------------------------------------------------

QUEUE_NAME_BYTES_MAX = 200
"""beanstalkd's limit for tube names; a queue and a tube of one name are one thing."""

PRIORITY_DEFAULT = 1024
"""Priority of an etcd put: beanstalkd clients call jobs below it urgent."""

JOB_ID_DIGITS_MAX = 20
"""Digits of the largest number of 64 bits: no job's id has more."""

INDEX_DIGITS = 16
"""Digits of an index in a delivery key: microseconds since 1970 fit until the year 2286."""

JOB_OVERHEAD_BYTES = 512
"""What a job costs beyond body and key when it is counted against `--max-jobs-size`."""

LINE_DEAD_MIN = 1_000
"""Entries of removed jobs a line or a heap of delays carries along before it is swept."""

OPEN_DEAD_MIN = 100
"""Consumers that left whose turn has not come: a queue carries so many along at least."""

OFFER_MESSAGES_MAX = 1_000
"""Messages in one offer, where credit has no limit: what is declined has to be put back."""

OFFER_BYTES_MAX = 1_048_576
"""Bytes of bodies in one offer, where credit has no limit."""

EWMA_WEIGHT = 0.1
"""What a new sample counts in an average of times; tuber's."""

FAST_JOB_S = 0.1
"""Jobs that take less are averaged apart from those that take longer; tuber's."""

TOMBSTONE_OVERHEAD_BYTES = 128
"""What remembering a deleted job by its idempotency key costs beyond the key; tuber's."""

GROUP_STEPS_MAX = 2_000
"""Steps of a search for groups that wait for each other in a circle: about 2 ms. One that is
farther away is not found; real pipelines have a dozen groups."""

TIMING_SAMPLES_MAX = 1_000
"""The last times of each kind, of which percentiles are taken; tuber's."""

FAIR_SAMPLES_MIN = 10
"""Jobs that must have been timed before weighted-fair believes their average; tuber's."""

FAIR_PROCESSING_MIN_S = 0.01
"""A queue of very fast jobs counts as this slow, or it would get all workers; tuber's."""

RESERVES_AT_ONCE_MAX = 1_000
"""Reserves of one connection, one behind the other, that are served by one claim."""

JOB_BYTES_ALL = 1 << 62
"""More bytes than all jobs have: for who takes jobs of any size."""

HELD_GONE_MAX = 1_000
"""Jobs that a connection no longer holds, and that its worker carries along before it looks."""

DEADLINE_SOON_S = 1.0
"""How long before the end of a reservation its connection is told; beanstalkd's safety margin."""

# delivery -----------------------------------------------------------------------------------

RESPONSE_EVENTS_BYTES_MAX = 1_048_576
"""A watch response carries at most this many bytes of events, or one message."""

EVENT_OVERHEAD_BYTES = 96
"""What an event adds to its key and body on the wire, at most: field tags, lengths, revisions."""

RESPONSE_OVERHEAD_BYTES = 64
"""What a watch response adds to its events, at most: prefix, header and watch id."""

# transport ----------------------------------------------------------------------------------

FRAME_BYTES_MAX = 16_384
"""Payload of an HTTP/2 frame, both ways: the least a peer must take, and a fair turn on a wire."""

HEADER_LIST_BYTES_MAX = 16_384
"""Decoded header list of a request (RFC 7541 size): what h11, nginx and Go's servers allow."""

HEADER_LIST_BYTES_HOSTILE = 65_536
"""A list beyond this is an attack (HPACK bomb): the connection ends instead of the call."""

HEADER_BLOCK_BYTES_MAX = 65_536
"""Encoded block over all its CONTINUATIONs: no honest block for 16 KiB of headers is larger."""

CONTINUATIONS_MAX = 32
"""CONTINUATION frames of one block: 64 KiB need 4 of full size, careful clients split finer."""

HEADER_TABLE_BYTES_MAX = 4_096
"""Dynamic table of a peer's encoder: the protocol's default, which we never change."""

BLOCK_CACHE_ENTRIES = 128
"""Header blocks remembered per connection: a client uses one per method and a few more."""

BLOCK_CACHE_BLOCK_BYTES = 1_024
"""Larger blocks are not remembered: the cache of a connection stays under 128 KiB of blocks."""

SHORT_STRINGS_MAX = 1_024
"""Timeouts of calls that the process knows by heart, as they are spelled."""

STREAMS_MAX = 4_096
"""Concurrent calls of a connection. grpc-go servers set none; 1,000 watches on one connection
plus 256 deliveries deleted at once plus ordinary calls must fit, and an attacker's share must
not: each open call costs about 400 bytes here."""

STREAM_WINDOW_BYTES = 1_048_576
"""Our receive window per stream: a large body needs few round trips."""

CONNECTION_WINDOW_BYTES = 4_194_304
"""Our receive window per connection. Credit goes back on arrival, so it bounds only what is
under way, never which calls may complete."""

RECEIVE_OVERHEAD_BYTES = 524_288
"""A received message may exceed `--max-request-bytes` by this, as in etcd: the request around a
body that is itself within the limit."""

BUFFERED_REQUEST_BYTES_MAX = 67_108_864
"""Half-received messages of one connection: 32 of the largest by default. Beyond it the newest
call fails, since holding back credit could stop all of them for ever."""

QUEUED_ANSWER_BYTES_MAX = 67_108_864
"""Answers of one connection that wait for its peer's window; one answer is always allowed."""

OUTPUT_TURN_BYTES = 262_144
"""Framed at a time from what waits: later small answers pass a big one after at most this."""

STATUS_TEXT_CHARS_MAX = 1_000
"""Of a status message: percent-encoded it still fits one HEADERS frame with room to spare."""

PREFACE_TIMEOUT_S = 10.0
"""A connection that has not said its preface and SETTINGS by then is closed (slowloris)."""

FRAME_TIMEOUT_S = 20.0
"""A frame, or a header block over CONTINUATIONs, that has begun is complete by then."""

LINGERING_STREAMS_MAX = 1_024
"""Streams we reset whose late frames we still recognise: more are not under way in a window."""

SKIPPED_RANGES_MAX = 16
"""Gaps between a client's stream ids of which we know that it left them out: clients leave none,
and a late use of an older one is told in other words."""

REQUEST_TIMEOUT_S = 60.0
"""A message that has begun (a unary call: its headers) is complete by then; 2 MiB in it is
35 kB/s."""

ANSWER_STALL_TIMEOUT_S = 60.0
"""A finished answer of which the peer's window took nothing for this long is dropped."""

PING_INTERVAL_MIN_S = 5.0
"""gRPC servers' shortest interval between a client's keepalive pings (etcd's default)."""

PING_TOLERANCE_S = 0.5
"""How much closer two pings may come by jitter alone."""

PING_STRIKES_MAX = 2
"""Pings too close to their forerunner that are forgiven, as in grpc-go."""

RESETS_MAX = 100
"""Resets of young unanswered calls, and of ours that a peer provoked: rapid reset and
MadeYouReset open and reset thousands."""

RESETS_PER_S = 10.0
"""How fast the budget of resets comes back with time alone."""

FINISHED_PER_RESET = 10
"""This many finished calls earn one reset: a busy connection may cancel more."""

CANCELS_MAX = STREAMS_MAX
"""Resets of calls that were answered or are at least `YOUNG_CALL_S` old, and refused streams:
a client may end all its watches at once."""

CANCELS_PER_S = 100.0
"""How fast the budget of cancels comes back."""

YOUNG_CALL_S = 1.0
"""A call reset within this time of its opening counts as a rapid reset if unanswered."""

SETTINGS_MAX = 100
"""SETTINGS frames in a burst: clients send one, and seldom a second."""

SETTINGS_PER_S = 1.0
"""How fast the budget of SETTINGS comes back."""

EMPTY_FRAMES_MAX = 200
"""Frames that carry nothing and end nothing (empty DATA, empty HEADERS fragments) in a burst."""

EMPTY_FRAMES_PER_S = 10.0
"""How fast the budget of empty frames comes back."""

IGNORED_FRAMES_MAX = 2_000
"""PRIORITY, unknown frames, acknowledgements nobody waits for and frames of ended streams in a
burst: old clients send a PRIORITY or two per call."""

IGNORED_FRAMES_PER_S = 200.0
"""How fast the budget of ignored frames comes back."""

WINDOW_UPDATES_MAX = 10_000
"""WINDOW_UPDATEs in a burst: one for each of a few thousand streams at once is honest."""

WINDOW_UPDATES_PER_S = 1_000.0
"""How fast the budget of window updates comes back with time alone."""

WINDOW_UPDATES_PER_ANSWER = 4
"""What each frame of ours earns: clients credit each DATA frame on stream and connection."""

assert HEADER_LIST_BYTES_MAX < HEADER_LIST_BYTES_HOSTILE <= HEADER_BLOCK_BYTES_MAX
assert STREAM_WINDOW_BYTES <= CONNECTION_WINDOW_BYTES
assert REQUEST_BYTES_MAX + RECEIVE_OVERHEAD_BYTES <= BUFFERED_REQUEST_BYTES_MAX
assert 3 * STATUS_TEXT_CHARS_MAX * 4 < FRAME_BYTES_MAX

# the process --------------------------------------------------------------------------------

REQUEST_BYTES_LIMIT = 33_554_432
"""`--max-request-bytes` may not go beyond: one of the largest must fit what a connection may hold
half-received, and half-sent."""

assert REQUEST_BYTES_LIMIT + RECEIVE_OVERHEAD_BYTES <= BUFFERED_REQUEST_BYTES_MAX
assert REQUEST_BYTES_LIMIT + RECEIVE_OVERHEAD_BYTES <= QUEUED_ANSWER_BYTES_MAX

CONNECTIONS_MAX = 10_000
"""Open connections of a node; fewer where the process may not have that many descriptors."""

DESCRIPTORS_RESERVED = 64
"""Descriptors kept from connections: listeners, logs, epoll, files of the future store."""

KEEPALIVE_IDLE_S = 60
"""A TCP connection that is silent for so long is asked by the kernel whether its peer is there."""

KEEPALIVE_PERIOD_S = 10
"""How long the peer's kernel has to answer, and how soon it is asked again."""

KEEPALIVE_PROBES = 3
"""Unanswered so often, it is gone: a worker that vanished ends within 90 s, and not in 2 hours."""

SOCKET_PATH_BYTES_MAX = 107
"""Length of a UNIX socket's path on Linux: sun_path less its final zero."""

# session ------------------------------------------------------------------------------------

SILENCE_S = 5.0
"""A connection with consumers that is silent for this long is pinged (rule 9)."""

PING_TIMEOUT_S = 5.0
"""A pinged connection that is still silent after this long is closed: its peer vanished."""

BACKLOG_BYTES_MAX = 1_048_576
"""Output the socket has not taken: beyond it, nothing more is read from that connection."""

WRITE_PIECE_BYTES = 65_536
"""Written at once of output that the socket did not take: each piece that it takes is progress."""

RECEIVE_BYTES = 8_192
"""Asked of the socket at once: some 50 small calls. More would make peer and node take turns, each
idle while the other works; less would cost a system call for fewer calls."""

READY_MAX = 64
"""So many sockets are read before what came is answered."""

LOOKS_MAX = 100
"""How often the sockets are looked at before we sleep, while packets come quickly: some 50 µs
(ADR 0008)."""

QUICK_PEER_S = 0.000_1
"""Packets come quickly if one came within this time after we slept: an answer and a wake-up take
about as long."""

READ_TURN_S = 0.001
"""For so long what comes is read and answered before other tasks have their turn."""

LOOKS_REST = 4
"""After looks in vain we sleep at once so often: where a peer shares our only CPU, each look in
vain is time taken from it."""

LINGER_S = 1.0
"""How long a closed connection is still read, so that its last words are not cut off by a reset."""

UNREAD_WATCH_REQUESTS_MAX = 100_000
"""Requests on one Watch call while its client does not read what it was answered: 10,000 watches
made at once are honest, and each unread answer costs about 150 bytes."""

# the beanstalk door -------------------------------------------------------------------------

JOB_BYTES_MAX = 65_535
"""Default of `--max-job-size`: beanstalkd's."""

JOB_BYTES_LIMIT = 1_073_741_824
"""`--max-job-size` may not go beyond: beanstalkd's largest."""

BATCH_JOBS_MAX = 1_000
"""Jobs of one reserve-batch or delete-batch; tuber's."""

TUBE_WEIGHT_MAX = 9_999
"""What a watched tube may weigh; tuber's."""

BEANSTALKD_LINE_BYTES_MAX = 224
"""A command line with its end: pause-tube with the longest name and time; beanstalkd's."""

TUBER_LINE_BYTES_MAX = 21_015
"""The same with batches: a delete-batch of the most and longest ids, and one space; tuber's."""

COMMAND_LINES_MAX = 4_096
"""Lines of put and reserve that the process knows by heart; then it starts anew."""

BEANSTALK_PARKED_BYTES_MAX = 65_536
"""Input taken of a connection while its reserve waits: some 3,000 pipelined deletes. Then nothing
more is read from it until the reserve is answered."""

BEANSTALK_PROGRESS_TIMEOUT_S = 30.0
"""A line or a body that has begun is complete by then, or has moved on by so many bytes:"""

BEANSTALK_PROGRESS_BYTES_MIN = 4_096
"""A client that sends a byte now and then is closed; one behind the slowest line is not."""

# watches on keys ----------------------------------------------------------------------------

PROGRESS_NOTIFY_S = 600.0
"""A silent watch that asked for it is told the revision this often: etcd's own interval."""

CATCH_UP_EVENTS_PER_BATCH = 10_000
"""Events of the history that the key space reads for lagging watches in one batch: about 20 ms."""

CATCH_UP_READ_BYTES = 262_144
"""How much of the history is read at once: a watch that wants little of it costs no more."""

REGISTRY_GONE_MAX = 4_096
"""Deleted registry keys remembered for lagging watches: a rolling restart of all consumers."""

QUEUE_HANDLES_MAX = 4_096
"""Queues whose handles a node keeps at hand; then it starts anew."""

KEY_LEADS_MAX = 4_096
"""Queues whose keys of one kind a connection's session knows by heart; then it starts anew."""
