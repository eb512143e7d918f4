"""Messages of the hot calls once more (upb), for the client library: twice as fast."""
