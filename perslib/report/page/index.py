"""The first page of `reports/`: every page of every run found there, whoever rendered it and when; and that of the lab."""

from __future__ import annotations

import base64
import io
import os
import warnings
from functools import cache
from pathlib import Path
from urllib.parse import quote

import pandas as pd

from perslib.paths import workspace
from perslib.report.page.leaderboard import write_leaderboard
from perslib.report.page.markup import prose
from perslib.report.page.page import say
from perslib.report.page.rendering import shelf_css
from perslib.report.run.manifest import StoredPage, common_language, files_of, pages_under, write_text
from perslib.report.run.plan import numbered_studies
from perslib.report.show.html import fill, load_template, show_html, show_table
from perslib.text import translate, using_language

_THUMBNAIL_WIDTH = 560


def write_index(root: Path) -> Path:
    """Write `index.html` over all manifests under `root`: by corpus, then backbone, then notebook.

    The leaderboard is written with it, and linked where there is one.
    """
    pages = pages_under(root)
    board = write_leaderboard(root)
    language = common_language(pages)
    with using_language(language):
        index = load_template("shelf.html.j2").render(
            pages=pages,
            card=_card,
            lacking=[study for study in numbered_studies() if study.missing_extra],
            leaderboard=board.name if board else "",
            language=language,
            css=shelf_css(),
        )
    return write_text(root / "index.html", index)


def _card(page: StoredPage) -> str:
    """Return what the index says of a page, in the page's language."""
    last, failed = page.entry["last_run"], page.folder / f"{page.name}.failed.html"
    with using_language(page.language):
        return fill(
            "card",
            page=page,
            entry=page.entry,
            last=last,
            failure="failed" in (page.entry["status"], last.get("status")) and (last or page.entry).get("failure"),
            picture=_thumbnail(page),
            answer=prose("".join(page.entry["answer"][:1])),
            manifest=(page.folder / f"{page.name}.json").relative_to(page.root).as_posix(),
            failed=failed.relative_to(page.root).as_posix() if last and failed.is_file() else "",
        )


def _thumbnail(page: StoredPage) -> str:
    """Return the figure that the page opens with, small, as part of the index itself."""
    files = (page.folder / name for name in files_of(page.entry) if name.endswith(".png"))
    thumbnails = (_small(file, file.stat().st_mtime_ns) for file in files if file.is_file())
    return next(filter(None, thumbnails), "")


@cache  # the index is written anew with each page
def _small(file: Path, changed: int) -> str:
    """Return a picture of the width of a card, or nothing where the file is damaged."""
    from PIL import Image

    try:
        with Image.open(file) as full:
            small = full.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        warnings.warn(f"{file} cannot be shown on the index: {error}", stacklevel=2)
        return ""
    small.thumbnail((_THUMBNAIL_WIDTH, 4 * _THUMBNAIL_WIDTH))
    buffer = io.BytesIO()
    small.save(buffer, "PNG", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode()


# -- in the lab ------------------------------------------------------------------------------------------


def show_reports() -> None:
    """Link every rendered page under `reports/`, by corpus and backbone."""
    folder = workspace() / "reports"
    pages = [page for page in pages_under(folder) if page.href]
    if not pages:
        say("Nothing has been run yet: make report, or perslib report, runs the bundled studies.")
        return
    titles = {"index.html": translate("Reports"), "leaderboard.html": translate("Leaderboard")}
    overviews = [(_href(folder / file), title) for file, title in titles.items() if (folder / file).is_file()]
    body = fill("reports", overviews=overviews, pages=pages, href=_href)
    show_html(body, "\n".join(page.href for page in pages))


def _href(path: Path) -> str:
    """Return the address of a file: in a browser tab of its own where Jupyter serves it, else seen from the notebook's
    folder.

    In a tab of its own, since a frame of JupyterLab runs no scripts and long tables could not be sorted.
    """
    from jupyter_server.serverapp import list_running_servers

    path = path.resolve()
    href = quote(Path(os.path.relpath(path, Path.cwd().resolve())).as_posix())
    for server in list_running_servers():
        root = Path(server["root_dir"]).resolve()
        if server["pid"] == os.getppid() and path.is_relative_to(root):
            href = f"{server['base_url']}files/{quote(path.relative_to(root).as_posix())}"
    return href


def list_backbones() -> pd.DataFrame:
    """Return the models that `backbones.toml` names, ours and the reader's own: name, model, place, and key, if it is
    set.
    """
    from perslib.llm.entries import entries

    def key(variable: str) -> str:
        if not variable:
            return translate("none needed")
        is_set = bool(os.environ.get(variable))
        return translate("{name}, set" if is_set else "{name}, not set", name=variable)

    here = translate("started on this machine")
    rows = [
        (e.name, e.model or None, here if e.kind == "embedded" else e.base_url, key(e.key_env))
        for e in entries().values()
    ]
    heads = [translate("Backbone"), translate("Model name"), translate("Where"), translate("Key")]
    return pd.DataFrame(rows, columns=heads)


def show_backbones() -> None:
    """Show the models that `backbones.toml` names; none of them is asked anything."""
    show_table(list_backbones())
