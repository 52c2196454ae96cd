"""perslib: a research workbench for personalized satisfaction with AI assistants."""

from importlib.metadata import version

__version__ = version("perslib")
