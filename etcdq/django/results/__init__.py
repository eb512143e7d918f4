"""Results of tasks, kept in a table of the project's database: an app of its own, to be chosen."""
