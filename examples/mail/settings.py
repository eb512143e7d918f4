"""What differs from one machine to the next, from the environment."""

import os
from pathlib import Path

HOME = Path(os.environ.get("MAIL_HOME", "mail-data"))
"""The folder of the store, and of what stands for the provider."""
RETRY_S = int(os.environ.get("MAIL_RETRY_S", "15"))
"""How long a failed job is put off at first, in seconds."""
LATENCY_S = float(os.environ.get("MAIL_LATENCY_S", "0"))
"""What the provider takes for each call, in seconds."""

INBOUND = "mail.inbound"
OUTBOUND = "mail.outbound"
TASKS = "mail.tasks"
MAINTENANCE = "mail.maintenance"
TUBES = (INBOUND, OUTBOUND, TASKS, MAINTENANCE)
