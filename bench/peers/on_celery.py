"""An empty task of celery; run as a script: so many calls of it."""

import os
import sys

from celery import Celery
from progress import BROKER, counter

done = counter()
app = Celery("on_celery", broker=os.environ[BROKER], set_as_current=True)
app.conf.task_ignore_result = True  # no other framework here keeps results unless asked to


@app.task(name="empty")
def empty(number: int) -> None:
    """Count it."""
    done[0] = number


if __name__ == "__main__":
    for number in range(int(sys.argv[1])):
        empty.delay(number)
