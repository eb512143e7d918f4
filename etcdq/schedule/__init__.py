"""Jobs that are put again and again: the schedule file, its grid of slots, the scheduler, and what
a worker needs to run such jobs.

`etcdq schedule FILE` runs it; docs/schedule.md says how. It speaks the beanstalk protocol only.
"""
