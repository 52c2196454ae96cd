"""Simulated users with patience who talk about a task: the world of DEUS."""
