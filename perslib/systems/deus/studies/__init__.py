"""The studies of notebooks 06 and 10."""
