"""Months of memory (Mem-PAL): H²Memory and the memories beside it, PAL-Sets, and PAL-Bench."""
