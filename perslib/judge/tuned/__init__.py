"""Judges whose model is fine-tuned on ratings."""
