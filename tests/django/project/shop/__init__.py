"""The app of the project."""
