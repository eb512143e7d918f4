"""Messages and stubs for the client library (betterproto), one room a package."""
