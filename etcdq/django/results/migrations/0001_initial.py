"""The table of results."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """The first one."""

    initial = True

    dependencies = ()

    operations = (
        migrations.CreateModel(
            name="StoredResult",
            fields=[
                ("id", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("backend", models.TextField()),
                ("task", models.TextField()),
                ("queue_name", models.TextField()),
                ("priority", models.IntegerField()),
                ("run_after", models.DateTimeField(null=True)),
                ("args", models.JSONField()),
                ("kwargs", models.JSONField()),
                ("status", models.CharField(max_length=20)),
                ("enqueued_at", models.DateTimeField(null=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("last_attempted_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(db_index=True, null=True)),
                ("errors", models.JSONField()),
                ("worker_ids", models.JSONField()),
                ("return_value", models.JSONField(null=True)),
            ],
            options={
                "verbose_name": "task result",
            },
        ),
    )
