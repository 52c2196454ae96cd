"""The memory explorer: what does this user want, why did the judge say 3, and what would change its mind?"""

from perslib.explorer.app import Explorer, explore
from perslib.explorer.explorer_state import ExplorerState

__all__ = ["Explorer", "ExplorerState", "explore"]
