"""A small mail product that works off queues; README.md says what is what.

Mail that comes in becomes tickets, replies to them are sent, the team is told in its chat. Each
job only points at something that outlives it, so a job that is given up loses nothing: what is to
be recovered is in the store, and `rewind` and `backfill` recover it.
"""
