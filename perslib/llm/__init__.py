"""Language models, from the bundled one to any OpenAI-compatible endpoint."""

from perslib.llm.types import Answer, Request

__all__ = ["Answer", "Request"]
