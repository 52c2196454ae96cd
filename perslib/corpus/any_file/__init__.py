"""Files of any form, and what is in memory: recognised by the names, types and values of their fields, and read as a corpus."""
