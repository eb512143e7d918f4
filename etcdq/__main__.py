"""`python -m etcdq` is the command `etcdq`."""

from etcdq.cli import main

main()
