"""Of the table of results."""
