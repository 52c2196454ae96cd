"""Memories: what is kept of a user's past, and how it is found again."""

__all__: list[str] = []
