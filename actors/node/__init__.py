"""What a node has beside its queues: the key space with its history, and the watches on it."""
