"""Simulated users whose devices log months of their lives: PAL-Sets with known truth."""

from perslib.systems.mem_pal.world.palset import palset

__all__ = ["palset"]
