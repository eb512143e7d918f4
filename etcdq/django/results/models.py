"""The table of results."""

from django.db import models


class StoredResult(models.Model):
    """What a task's TaskResult tells, and what it takes to make one again."""

    id = models.CharField(primary_key=True, max_length=64)
    backend = models.TextField()
    task = models.TextField()
    """Module, dot, name."""
    queue_name = models.TextField()
    priority = models.IntegerField()
    run_after = models.DateTimeField(null=True)
    args = models.JSONField()
    kwargs = models.JSONField()
    status = models.CharField(max_length=20)
    enqueued_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    last_attempted_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True, db_index=True)
    """Looked for by who deletes old ones."""
    errors = models.JSONField()
    """Of each failed try: class path and traceback."""
    worker_ids = models.JSONField()
    return_value = models.JSONField(null=True)

    class Meta:
        """Nothing else is to be known of it."""

        verbose_name = "task result"

    def __str__(self) -> str:
        return f"{self.task} {self.id}: {self.status}"
