"""The client library. Its public names are those of `etcdq`; `connect` is where to begin."""

# Before grpclib, which keeps asyncio.current_task as it finds it: since Python 3.12 that must be
# the one that trio-asyncio puts there.
import trio_asyncio as trio_asyncio
