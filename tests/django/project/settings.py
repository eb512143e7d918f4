"""A small project: one app, two databases in one folder, backends in several forms."""

import os
from importlib.util import find_spec
from pathlib import Path

FOLDER = Path(os.environ["PROJECT_FOLDER"])
USES_BACKPORT = find_spec("django.tasks") is None

SECRET_KEY = "for tests"
USE_TZ = True
INSTALLED_APPS = [
    *(["django_tasks"] if USES_BACKPORT else []),
    "etcdq.django",
    *([] if os.environ.get("PROJECT_WITHOUT_RESULTS") else ["etcdq.django.results"]),
    "shop",
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"


def database(name: str) -> dict[str, object]:
    """Return one that a web process and workers write to at once."""
    options = {"timeout": 30, "transaction_mode": "IMMEDIATE"}
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": FOLDER / f"{name}.sqlite3",
        "OPTIONS": options,
    }


DATABASES = {"default": database("main"), "other": database("other")}

PREFIX = os.environ.get("PROJECT_TUBES", "django")
BACKEND = {"BACKEND": "etcdq.django.TubeBackend", "QUEUES": ["default", "mail", "bulk"]}
TASKS = {
    "default": {
        **BACKEND,
        "OPTIONS": {"tube": f"{PREFIX}.{{queue}}", "retry_base_s": 1, "tries_max": 2},
    },
    "one_tube": {**BACKEND, "OPTIONS": {"tube": f"{PREFIX}.all", "give_up": "bury"}},
    "at_once": {
        **BACKEND,
        "ENQUEUE_ON_COMMIT": False,
        "OPTIONS": {"tube": f"{PREFIX}.{{queue}}.at_once"},
    },
    "of_other": {
        **BACKEND,
        "OPTIONS": {"tube": f"{PREFIX}.of_other", "database": "other"},
    },
    "other": {"BACKEND": f"django{'_' if USES_BACKPORT else '.'}tasks.backends.dummy.DummyBackend"},
    "away": {**BACKEND, "OPTIONS": {"address": "127.0.0.1:1"}},
}
