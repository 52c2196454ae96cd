"""Showing conversations, profiles and tables: in JupyterLab and on a page alike, whatever their text holds.

All of it is text that strangers wrote. It is escaped, its white space is kept, and characters that would act
(terminal escapes, direction overrides, invisible ones) are shown as marks.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus.schema import TURN
from perslib.report.page.markup import reply
from perslib.report.show.style import ACCENT, FAINT, RULE, SCORES
from perslib.report.show.words import beginning, day, format_duration, name_of
from perslib.text import current_language, plural, show_hidden, show_minus, translate

#: Messages of more characters, or more lines, are folded behind "show all".
FOLD, FOLD_LINES = 900, 20
_SHORT_CELL, _LONG_CELL = 14, 30
#: Tables of at least so many rows are sorted by their heads, on a page.
SORTABLE = 12
#: A score this near to a whole one would be written as that, with zeros.
_WHOLE = 0.005
_INTERVAL = re.compile(r"\[[−-]?[\d.]+, [−-]?[\d.]+\]")
_NUMBER = re.compile(r"([<+−] ?)?[\d.,]+ ?%?|–")
#: So many columns stand closer together, so that a table of judges and metrics fits the page.
DENSE = 7
#: Columns whose cells are labels that have a name in each language; all other text stays as it is.
LABELLED = (
    *("scenario", "reason", "statistic", "quantity", "judge", "calibration", "metric", "control"),
    *("candidate", "other", "against", "context", "why", "replay_set", "method", "dimension", "chosen", "pal_part"),
)


@cache
def stylesheet() -> str:
    """Return the styles of what this module shows; each output carries them, a page only once."""
    return f"<style>{(Path(__file__).parent / 'shown.css').read_text(encoding='utf-8')}</style>"


def escape(value: object) -> str:
    """Return any value as text that shows as itself on a page."""
    return html.escape(show_hidden(str(value)))


#: What every template may call.
CALLABLE = {"_": translate, "plural": plural, "named": name_of, "day": day, "took": format_duration}


def load_template(name: str) -> Any:
    """Return a template of `perslib/report/show/template` by its file's name; what is filled in is escaped, and acts no
    more.
    """
    return _templates().get_template(name)


@cache
def _templates() -> Any:
    import jinja2
    from markupsafe import Markup

    def show_controls(value: object) -> object:
        return show_hidden(value) if type(value) is str else value

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "template"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=show_controls,  # sees every value before it is escaped; what a filter has made safe is Markup
        trim_blocks=True,
        lstrip_blocks=True,
    )
    safe = {"chip": score_chip, "conversation": conversation_html, "profile": profile_html}
    safe |= {"reply": reply_html, "text": text_html}
    made.filters |= {name: lambda *given, f=f, **how: Markup(f(*given, **how)) for name, f in safe.items()}
    made.filters |= {"beginning": beginning, "minus": show_minus, "name": name_of}
    made.globals |= {**CALLABLE, "colors": {"scores": SCORES, "accent": ACCENT, "faint": FAINT, "rule": RULE}}
    return made


def fill(part: str, file: str = "shown.html.j2", **values: Any) -> str:
    """Return the HTML of a macro of a template."""
    return str(getattr(load_template(file).module, part)(**values))


def render_cards(name: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """Render cases as HTML by a template, which has them as `rows`."""
    return str(load_template(name).render(rows=rows, language=current_language()))


def show_html(body: str, plain: str = "", record: Mapping[str, Any] | None = None) -> None:
    """Display our own, already safe HTML; outside a notebook, print its plain words.

    `record` goes into the output's metadata, where the report runner finds what a notebook has made.
    """
    from IPython.core.getipython import get_ipython
    from IPython.display import publish_display_data

    if get_ipython() is None:
        print(plain)
        return
    data = {"text/html": f"{stylesheet()}\n{body}", "text/plain": plain}
    publish_display_data(data, metadata={"perslib": dict(record)} if record else {})


# -- conversations -----------------------------------------------------------------------------------------


def show_conversation(messages: Iterable[Mapping[str, Any]], title: str = "") -> None:
    """Show a conversation as it was said, long messages folded.

    Messages are `{"role", "content"}`, as `corpus.messages` gives them; a `score` (1–5), a `reason` and a
    `note` are shown beside the message where it has them.
    """
    messages = list(messages)
    plain = translate("Conversation of {n} messages", n=len(messages))
    show_html(conversation_html(messages, title), plain)


def conversation_html(messages: Iterable[Mapping[str, Any]], title: str = "", recent: int | None = None) -> str:
    """Return a conversation as `show_conversation` shows it; with `recent`, what came before the last so many is
    folded.
    """
    bubbles = [_bubble(m) for m in messages]
    if recent and (earlier := bubbles[:-recent]):
        label = translate("{n} earlier messages", n=len(earlier))
        bubbles = [fold_html(escape(label), "\n".join(earlier), "pl-more pl-earlier"), *bubbles[-recent:]]
    return fill("conversation", title=title, language=current_language(), messages="\n".join(bubbles))


def fold_html(summary: str, body: str, kind: str = "pl-more") -> str:
    """Return something that opens at a click, without a script; both parts are HTML already."""
    return f'<details class="{kind}"><summary>{summary}</summary>{body}</details>'


def _bubble(message: Mapping[str, Any]) -> str:
    role, score = "user" if message["role"] == "user" else "assistant", message.get("score")
    return fill(
        "message",
        role=role,
        who=message["role"],
        chip=score_chip(int(score)) if score is not None and pd.notna(score) else "",
        notes=[note for key in ("reason", "note") if pd.notna(note := message.get(key)) and note],
        body=(text_html if role == "user" else reply_html)(str(message["content"])),
    )


def text_html(text: str) -> str:
    """Return a stranger's text with its white space kept; of a long one the beginning shows, and the rest opens."""
    return _fold_text(text, "pl-text", html.escape)


def reply_html(text: str) -> str:
    """Return a model's reply with its Markdown set; of a long one the beginning shows, and the rest opens."""
    return _fold_text(text, "pl-text pl-markdown", reply)


def _fold_text(text: str, kind: str, form: Callable[[str], str]) -> str:
    shown = show_hidden(text).strip("\n")
    if not shown.strip():
        return f'<div class="pl-text pl-empty">{translate("(empty message)")}</div>'
    body = f'<div class="{kind}" dir="auto">{form(shown)}</div>'
    if len(shown) <= FOLD and shown.count("\n") < FOLD_LINES:
        return body
    opens = fold_html(translate("show all {n} characters", n=f"{len(shown):,}"), "")
    return f'<div class="pl-long">{opens}{body}</div>'  # the style clips what stands behind a fold that is closed


def score_chip(score: float) -> str:
    """Return a score as a small coloured mark, readable without the colour; one between two has the nearest's.

    Without a score (NaN) it is an empty mark.
    """
    from perslib.stats import to_scale

    if pd.isna(score):
        return '<span class="pl-score pl-unscored">–</span>'
    whole = int(to_scale(score))
    ink = "#ffffff" if whole in (1, 5) else "#1f2733"
    shown = f"{score:.0f}" if abs(score - whole) < _WHOLE else f"{score:.2f}"
    return f'<span class="pl-score" style="background-color:{SCORES[whole]};color:{ink}">{shown}</span>'


def show_profile(profile: Mapping[str, Any], title: str = "") -> None:
    """Show a user's profile in plain words, field by field."""
    show_html(profile_html(profile, title), translate("Profile"))


def profile_html(profile: Mapping[str, Any], title: str = "") -> str:
    """Return a profile as `show_profile` shows it."""
    fields = []
    for key, value in profile.items():
        texts = [value] if isinstance(value, str) or not isinstance(value, Iterable) else value
        if shown := [text for text in map(str, texts) if text.strip()]:
            fields.append((key, shown))
    return fill("profile", title=title, fields=fields)


# -- tables ------------------------------------------------------------------------------------------------


def header_of(column: object) -> str:
    """Return what stands at the head of a column: its label in the page's language, else its name; signs (r, ρ, p) stay small."""
    text = show_minus(name_of(str(column)))
    is_word = re.match(r"[a-z]{2}", text) and "_" not in text
    return text[0].upper() + text[1:] if is_word else text


def cell(value: object, digits: int = 2, column: object = "") -> str:
    """Return a value as people read it: thousands apart, `digits` decimals, a dash where there is none.

    In the columns that hold stored labels (scenarios, reasons, statistics) they are shown by name.
    """
    if isinstance(value, (tuple, list, dict, set)):
        return str(value)
    if value is None or pd.isna(value):
        return "–"
    if isinstance(value, bool):
        return "✓" if value else "–"
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d %H:%M}"
    if hasattr(value, "__index__"):
        return f"{int(value):,}"
    if hasattr(value, "__float__"):
        return show_minus(f"{float(value):,.{digits}f}")
    return name_of(str(value)) if column in LABELLED else str(value)


def unbroken(text: str) -> str:
    """Return an interval in one line: `0.371 [0.237, 0.455]` breaks before the bracket only."""
    return _INTERVAL.sub(lambda m: m[0].replace(", ", ",\u00a0"), text)


def is_numeric(column: pd.Series) -> bool:
    """Return whether a column holds numbers only, formatted or not, so that it is set flush right."""
    known = column.dropna()
    return len(known) > 0 and (
        pd.api.types.is_numeric_dtype(known.infer_objects())
        or all(hasattr(value, "numbers") and _NUMBER.fullmatch(str(value)) for value in known)
    )


def _class(column: pd.Series) -> str:
    """Return how a column is set: numbers flush right, times in one line, long texts not too narrow."""
    if is_numeric(column):
        return "pl-num"
    if pd.api.types.is_datetime64_any_dtype(column):
        return "pl-time"
    longest = max((len(str(value)) for value in column), default=0)
    return "pl-short" if longest <= _SHORT_CELL else "pl-long" if longest > _LONG_CELL else ""


def cell_texts(frame: pd.DataFrame, digits: int = 2) -> list[list[str]]:
    """Return what the cells say, column by column."""
    return [
        [unbroken(show_hidden(cell(value, digits, column))) for value in frame.iloc[:, i]]
        for i, column in enumerate(frame.columns)
    ]


def table_html(frame: pd.DataFrame, caption: str = "", digits: int = 2) -> str:
    """Return a frame as a table whose every cell is text; wide ones scroll in their own box, long ones can be sorted."""
    kinds = [_class(frame.iloc[:, i]) for i in range(frame.shape[1])]
    heads = [(kind, show_hidden(header_of(column))) for kind, column in zip(kinds, frame.columns)]
    rows = [list(zip(kinds, texts)) for texts in zip(*cell_texts(frame, digits))]
    places = [*map(_place_of, frame.to_dict("records"))] if {*TURN} <= {*frame.columns} else [""] * len(frame)
    marks = {"pl-sortable": len(frame) >= SORTABLE, "pl-dense": frame.shape[1] >= DENSE}
    kind = " ".join(["pl-table", *(name for name, holds in marks.items() if holds)])
    return fill("table", heads=heads, rows=list(zip(places, rows)), kind=kind, caption=caption)


def _place_of(row: Mapping[str, Any]) -> str:
    """Return where a reply is, as the file of all verdicts names it."""
    candidate = row.get("candidate")
    return "/".join(
        str(part) for part in (*(row[name] for name in TURN), *([candidate] if isinstance(candidate, str) else []))
    )


def show_table(frame: pd.DataFrame, caption: str = "") -> None:
    """Show a frame as a table: numbers flush right, text escaped, missing values as a dash."""
    show_html(table_html(frame, escape(translate(caption))), frame.to_string(index=False))
