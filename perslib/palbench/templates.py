"""What each turn of a multi-turn dialogue does, fixed beforehand and the same for all methods (Mem-PAL, section 5.4).

    (inquiry, predict) (confirm, predict) (confirm, propose) [discuss, discuss] (feedback, propose)
                                                             [discuss, discuss] (feedback, respond)

Each of the two solutions is talked over with probability ½: four patterns, of five to seven turns. A dialogue ends with
its template.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random

from perslib.corpus import palset_names
from perslib.errors import DataError, Problem

#: (what the user does, what the assistant does), turn by turn.
Template = tuple[tuple[str, str], ...]


def template(first: bool, second: bool) -> Template:
    """The turns where the first solution, and the second, is talked over or not."""
    discuss: Template = (("solution_discussion", "solution_discussion"),)
    return (
        ("topic_inquiry", "requirement_prediction"),
        ("requirement_confirmation", "requirement_prediction"),
        ("requirement_confirmation", "solution_proposal"),
        *discuss * first,
        ("solution_feedback", "solution_proposal"),
        *discuss * second,
        ("solution_feedback", "feedback_response"),
    )


PATTERNS: tuple[Template, ...] = tuple(template(a, b) for a in (False, True) for b in (False, True))


def draw_templates(ids: Iterable[str], seed: int = 42) -> dict[str, Template]:
    """A pattern for each dialogue, each as likely; a dialogue's own does not depend on which others there are."""
    return {id: Random(f"{seed}/{id}").choice(PATTERNS) for id in ids}


def read_templates(path: str | Path) -> dict[str, Template]:
    """Templates as published: `{id: {"turn_1": {"user": "<话题询问>", "assistant": …}, …}}`, in either language."""
    path = Path(path)
    try:
        content = json.loads(path.read_text("utf-8"))
        found = {str(id): _read(turns) for id, turns in content.items()}
    except (ValueError, AttributeError, TypeError, KeyError) as error:
        raise DataError(
            Problem(path.name, f"holds no templates ({error})"), "See perslib.palbench.read_templates."
        ) from None
    strange = [
        Problem(f"{path.name} {id}", "has an action that is none of the paper's")
        for id, turns in found.items()
        if not turns or any(None in turn for turn in turns)
    ]
    if strange:
        raise DataError(strange)
    return found  # type: ignore[return-value]  # no action is None, as was just seen


def write_templates(templates: Mapping[str, Template], path: str | Path) -> Path:
    """Write templates in the published form, actions by their Chinese names."""
    users, assistants = palset_names.USER_ACTIONS["zh"], palset_names.ASSISTANT_ACTIONS["zh"]
    content = {
        id: {
            f"turn_{i}": {"user": f"<{users[user]}>", "assistant": f"<{assistants[assistant]}>"}
            for i, (user, assistant) in enumerate(turns, start=1)
        }
        for id, turns in templates.items()
    }
    path = Path(path)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1), "utf-8")
    return path


def _read(turns: Mapping[str, Mapping[str, str]]) -> tuple[tuple[str | None, str | None], ...]:
    ordered = sorted(turns.items(), key=lambda item: int(re.sub(r"\D", "", item[0])))
    return tuple(
        (palset_names.user_action(turn["user"]), palset_names.assistant_action(turn["assistant"]))
        for _, turn in ordered
    )
