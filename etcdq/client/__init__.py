"""The client library. Its public names are those of `etcdq`; `connect` is where to begin."""
