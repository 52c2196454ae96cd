"""The studies of notebook 05."""
