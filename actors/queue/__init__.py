"""One queue: the line, the jobs in it, who waits for them, and what is acknowledged."""
