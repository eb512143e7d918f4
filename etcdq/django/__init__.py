"""Django's Tasks on beanstalk tubes: a backend, and `manage.py etcdq_worker`.

It works with `django.tasks` (Django 6) and with its official backport, django-tasks.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from etcdq.django.backend import TubeBackend as TubeBackend


def __getattr__(name: str) -> Any:
    # This is an app, too: Django imports it before its settings may be looked at.
    if name == "TubeBackend":
        from etcdq.django.backend import TubeBackend

        return TubeBackend
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
