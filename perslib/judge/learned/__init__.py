"""Judges that learn from ratings, without a model."""
