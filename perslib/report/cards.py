"""Single cases as HTML: what a study found out about each goes into a template, and nothing in it acts on the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from perslib.report.show import conversation_html, reply_html, score_chip, templates, text_html
from perslib.report.words import beginning, controls_shown, name_of
from perslib.text import current_language


@cache
def _environment() -> Any:
    from markupsafe import Markup

    def show_controls(value: object) -> object:
        return controls_shown(value) if type(value) is str else value

    # `finalize` sees every value before it is escaped; what a filter has made safe is Markup and stays.
    made = templates(finalize=show_controls, trim_blocks=True, lstrip_blocks=True)
    safe = {"chip": score_chip, "conversation": conversation_html, "reply": reply_html, "text": text_html}
    made.filters |= {name: lambda *given, f=f, **how: Markup(f(*given, **how)) for name, f in safe.items()}
    made.filters |= {"beginning": beginning, "name": name_of}
    return made


def render_cards(template: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """Render cases as HTML by a template of `perslib/report/template`, which has them as `rows`."""
    return str(_environment().get_template(template).render(rows=rows, language=current_language()))
