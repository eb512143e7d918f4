"""One beanstalk connection as the queues see it: what it watches, waits for, and holds."""
