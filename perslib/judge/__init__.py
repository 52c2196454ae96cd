"""Judges: how satisfied is this user with this reply? One protocol for those that ask a model and those that compute."""

from perslib.judge.base import Computed, Judge, Sees, Verdict, like_for_like

__all__ = ["Computed", "Judge", "Sees", "Verdict", "like_for_like"]
