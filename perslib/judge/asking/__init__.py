"""Judges that ask a model, how they put their questions, and how an answer is read."""
