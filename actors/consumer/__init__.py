"""One registered consumer: what it is offered, what it took, and when it is dropped."""
