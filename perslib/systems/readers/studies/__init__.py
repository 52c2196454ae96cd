"""Judges and logs of other tools: compared with people, and with each other."""
