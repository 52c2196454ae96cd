"""Work as a cluster does it, without one: with copies of the method, none of which is seen again."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

from perslib.llm import Backbone


def each_elsewhere(
    self: Backbone, method: Any, items: Any, sink: Any, *, progress: bool = True, **settings: Any
) -> None:
    """`Backbone.each`, two items a copy; results travel as well."""
    todo, items = pickle.dumps(method), list(items)
    for at in range(0, len(items), 2):
        copy = pickle.loads(todo)
        found = self.work([partial(copy, item) for item in items[at : at + 2]], progress=False)
        for result in pickle.loads(pickle.dumps(found)):
            sink(result)
