"""H²Memory: what Mem-PAL remembers of a user, from device logs and dialogues, in the concrete and in the abstract."""

from perslib.systems.mem_pal.memory.h2.mapping import OfficialMapping
from perslib.systems.mem_pal.memory.h2.store import ASPECTS, H2Store
from perslib.systems.mem_pal.memory.h2.system import H2Dialogues, H2Memory

__all__ = ["ASPECTS", "H2Dialogues", "H2Memory", "H2Store", "OfficialMapping"]
