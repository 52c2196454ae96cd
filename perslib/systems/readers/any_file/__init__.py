"""Files of any form, and what is in memory: recognised by the names, types and values of their fields, and read as a corpus."""

from perslib.corpus.store import ANY, loader
from perslib.systems.readers.any_file import anything

loader(ANY)(anything.read)
anything.read.looks_like = anything.looks_like  # type: ignore[attr-defined]
anything.read.read_objects = anything.read_objects  # type: ignore[attr-defined]
anything.read.describe_first = anything.describe_taken  # type: ignore[attr-defined]
