"""The app that keeps results."""

from django.apps import AppConfig


class ResultsConfig(AppConfig):
    """`"etcdq.django.results"` of INSTALLED_APPS."""

    name = "etcdq.django.results"
    label = "etcdq_results"
    verbose_name = "Results of tasks"
    default_auto_field = "django.db.models.BigAutoField"
