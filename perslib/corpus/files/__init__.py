"""Files that may be broken: records with their place, times, and tables in little room; every fault is collected."""
