"""The etcd door: HTTP/2 and gRPC, and the translation of calls to messages and back."""
