"""Judges against people on any file, and two logs of any tool compared: nothing is imported, and no model is asked."""
