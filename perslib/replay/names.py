"""Names that all of a replay goes by."""

#: The candidate whose replies are those that the users were given.
ORIGINAL = "original"
