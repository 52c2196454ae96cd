"""Names that all of a replay goes by."""

from perslib.corpus import TURN

__all__ = ["ORIGINAL", "TURN"]

#: The candidate whose replies are those that the users were given.
ORIGINAL = "original"
