"""The ordinary keys with their history: pure data structures, no actor."""
