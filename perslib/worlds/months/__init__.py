"""Simulated users whose devices log months of their lives: PAL-Sets with known truth."""
