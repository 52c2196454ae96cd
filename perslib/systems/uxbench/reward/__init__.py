"""Reward models: how likely a user likes this reply to this request."""
