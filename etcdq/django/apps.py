"""The app that brings `manage.py etcdq_worker`."""

from django.apps import AppConfig


class EtcdqConfig(AppConfig):
    """`"etcdq.django"` of INSTALLED_APPS."""

    name = "etcdq.django"
    label = "etcdq_django"
    verbose_name = "etcdq"
