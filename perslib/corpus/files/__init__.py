"""Files that may be broken: records with their place, times, and large tables in little memory.

Every fault is collected.
"""
