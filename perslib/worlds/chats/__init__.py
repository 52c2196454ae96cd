"""Simulated users who chat with assistants and rate the replies."""
