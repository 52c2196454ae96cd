"""Names that all of a replay goes by."""

#: The candidate whose replies are those that the users were given.
ORIGINAL = "original"

#: What tells a replayed turn from every other.
TURN = ["user", "scenario", "session", "turn"]
