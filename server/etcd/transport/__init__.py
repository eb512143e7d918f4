"""HTTP/2 and gRPC as a server, without I/O: bytes in, calls out; answers in, bytes out.

A session drives `grpc.Transport` and hears of calls by the values of `events`. It is one class in
four layers, each the base of the next: `sending` (what leaves), `control` (frames that steer),
`http2` (what comes), `grpc` (what that means for calls). `stream` is the state of one call,
`flood` the budgets of a connection; the others read and write bytes.
"""
