"""Data sets of others: read by their published forms."""
