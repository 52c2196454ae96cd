"""Files of any form, and what is in memory: recognised by the names, types and values of their fields, and read as a corpus."""

from perslib.corpus.store import ANY, register_kind
from perslib.systems.readers.any_file import anything

register_kind(
    ANY,
    anything.read,
    looks_like=anything.looks_like,
    read_objects=anything.read_objects,
    describe_first=anything.describe_taken,
)
