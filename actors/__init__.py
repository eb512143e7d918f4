"""Everything that thinks: pure cores, the mailboxes that feed them, one Trio shell to run them.

Start with `core.py` (what an actor is), `effect.py` (what it may want), `stage.py` (how a batch
of messages is stepped) and `shell.py` (the only loop that waits).
"""
