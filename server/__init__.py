"""Everything that speaks: the daemon and its configuration, and a folder for each door."""
