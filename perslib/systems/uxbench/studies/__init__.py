"""The studies of notebooks 07, 08 and 11."""
