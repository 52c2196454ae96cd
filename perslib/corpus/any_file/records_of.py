"""The records of a file of any kind: tables in any spelling, sheets, JSON of any nesting, Parquet, SQLite, logs of Inspect,
and any of them packed.

records, notes = read_records(Path("ratings.xlsx"))     # place and content of each record, and how it was read
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import sqlite3
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, cast

from perslib.corpus.any_file import statistics_files
from perslib.corpus.any_file.archives import UNPACKED, Records, check_members, read_inspect_log
from perslib.corpus.any_file.encodings import decode_text
from perslib.corpus.any_file.json_records import read_json_records
from perslib.corpus.any_file.statistics_files import is_saved_dataset, read_saved_dataset, read_statistics_file
from perslib.corpus.files.parquet import read_frame
from perslib.corpus.files.records import (
    COLUMNS,
    LONGEST,
    check_header,
    check_regular,
    check_width,
    count_cells,
    json_lines,
    read_bounded,
)
from perslib.corpus.files.tables import read_table_rows
from perslib.errors import DataError, Problem

_RESULT = re.compile(r"\[(PASS|FAIL)\]\s*(?:\(\d+(?:\.\d+)?\)\s*)?(.*)", re.DOTALL)
TEXTS = (".csv", ".tsv", ".txt", ".psv")
LINES = (".jsonl", ".ndjson")
TABLES = (".sqlite", ".sqlite3", ".db")
PACKED = (".gz", ".zip")
#: What SQLite says is hidden of a column that is computed: when it is read, or when it was written.
COMPUTED = (2, 3)
#: Files that run code as they are read.
PICKLES = (".pkl", ".pickle", ".joblib")
SUFFIXES = (*TEXTS, *LINES, ".json", ".parquet", ".xlsx", ".eval", *statistics_files.SUFFIXES, *TABLES, *PACKED)
DELIMITERS = ",;\t|"
#: A cell of a sheet with a formula and no value.
_EMPTY_FORMULA = re.compile(rb'<c r="([A-Z]+\d+)"[^>]*><f[^>]*>[^<]*</f>(?:<v ?/>|<v></v>)?</c>')
UNPACKED_AT_ONCE = 1 << 20
#: Rows by which a delimiter is told.
FIRST = 50


def read_records(path: Path, encoding: str | None = None) -> tuple[Records, list[str]]:
    """Return place, content (or Problem) and what stands there of each record, and how the file was read where that is not plain."""
    check_regular(path)
    records, notes = _read_by_suffix(path, encoding)
    for _ in count_cells((value for _, value, _ in records), path.name):
        pass
    return records, notes


#: The largest share of the records of a file that may have none in the file that it is joined with.
ALONE = 0.05


def join_records(own: Records, other: Records, on: str, names: tuple[str, str]) -> tuple[Records, str]:
    """Return records with the fields of those in another file that have the same value in the field `on`, and what was joined.

    One of the files has each value once. A field of both whose values differ keeps its name in the first, and has the second's
    name before it in the other.
    """
    for records, name in ((own, names[0]), (other, names[1])):
        if not any(isinstance(value, Mapping) and on in value for _, value, _ in records):
            raise DataError(Problem(name, f"has no field {on}"), "Name a field that both files have: --on FIELD")
    keyed = [[(str(v[on]), at, v) for at, v, _ in r if isinstance(v, Mapping) and on in v] for r in (own, other)]
    if len({key for key, *_ in keyed[1]}) < len(keyed[1]):
        keyed, names = keyed[::-1], names[::-1]
    unique = {key: value for key, _, value in keyed[1]}
    if len(unique) < len(keyed[1]):
        raise DataError(Problem(on, f"is of several records in both {names[0]} and {names[1]}"), "It names no record.")
    joined: Records = []
    for key, at, value in keyed[0]:
        if (more := unique.get(key)) is not None:
            named = {k if k == on or value.get(k, v) == v else f"{names[1]}.{k}": v for k, v in more.items()}
            whole = {**named, **value}
            joined.append((at, whole, whole))
    summary = f"{len(joined):,} of {len(keyed[0]):,} records of {names[0]} have their record in {names[1]}"
    if len(keyed[0]) - len(joined) > ALONE * len(keyed[0]):
        raise DataError(Problem(on, summary), "Is another field the one that both share? --on FIELD")
    return joined, f"joined by {on}: {summary}"


def _read_by_suffix(path: Path, encoding: str | None) -> tuple[Records, list[str]]:
    suffix = path.suffix.lower()
    if is_saved_dataset(path):
        return read_saved_dataset(path)
    if suffix in PICKLES:
        wrong = "is a pickle, which runs whatever code it holds when it is read"
        raise DataError(
            Problem(path.name, wrong), "Where you trust it, save what it holds: frame.to_parquet('data.parquet')."
        )
    if suffix in statistics_files.SUFFIXES:
        return read_statistics_file(path)
    if suffix in LINES:
        return [*json_lines(read_bounded(path), path.name)], []
    if suffix == ".json":
        return read_json_records(path)
    if suffix == ".parquet":
        frame = read_frame(path, most=COLUMNS)
        return _number(count_cells(read_table_rows(frame), path.name), path.name), []
    if suffix == ".xlsx":
        return _read_sheet(path)
    if suffix == ".eval":
        return read_inspect_log(path), ["a log of Inspect"]
    if suffix in TEXTS:
        return _read_text(path, encoding)
    if suffix in TABLES:
        return _read_database(path)
    if suffix in PACKED:
        return _read_packed(path, encoding)
    raise DataError(Problem(str(path), f"is no table; expected a file ending in {', '.join(SUFFIXES)}"))


def _number(rows: Iterator[dict[str, Any]], name: str) -> Records:
    return [(f"{name}:{number}", row, row) for number, row in enumerate(rows, 1)]


def _read_packed(path: Path, encoding: str | None) -> tuple[Records, list[str]]:
    """Return the records of the only file in an archive, which is unpacked beside nothing else and bounded."""
    try:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            if path.suffix.lower() == ".gz":
                held, archive = [path.stem], None
            else:
                archive = stack.enter_context(zipfile.ZipFile(path))
                held = archive.namelist()
            held = [name for name in held if name.lower().endswith(SUFFIXES) and not name.startswith("__MACOSX")]
            if len(held) != 1:
                wrong = f"holds {', '.join(held[:5]) or 'no table'}, expected one file with records"
                raise DataError(Problem(path.name, wrong), "Unpack it, and import one file.")
            name = Path(held[0]).name
            packed = archive.open(held[0]) if archive else gzip.GzipFile(path)
            opened = cast(IO[bytes], stack.enter_context(packed))
            with (folder / name).open("wb") as unpacked:
                while part := opened.read(UNPACKED_AT_ONCE):
                    if unpacked.tell() > UNPACKED:
                        raise DataError(Problem(path.name, f"holds more than {UNPACKED:,} bytes"), "Unpack it first.")
                    unpacked.write(part)
            records, notes = read_records(folder / name, encoding)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, zlib.error) as error:
        raise DataError(Problem(path.name, f"cannot be unpacked: {error}")) from error
    return records, [f"unpacked: {name}", *notes]


def _read_database(path: Path) -> tuple[Records, list[str]]:
    """Return the rows of the longest table of an SQLite database."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
            listed = database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            )
            spelled = {name: '"' + name.replace('"', '""') + '"' for (name,) in listed}
            rows = {n: database.execute(f"SELECT COUNT(*) FROM {own}").fetchone()[0] for n, own in spelled.items()}
            if not any(rows.values()):
                raise DataError(Problem(path.name, "has no table with rows"))
            table = max(rows, key=lambda name: rows[name])
            columns = database.execute(f"PRAGMA table_xinfo({spelled[table]})").fetchall()
            if computed := [column["name"] for column in columns if column["hidden"] in COMPUTED]:
                raise DataError(
                    Problem(
                        path.name,
                        f"table {table!r} has columns that are computed when they are read: {', '.join(computed)}",
                    ),
                    f"Copy what is needed into a plain table: CREATE TABLE plain AS SELECT … FROM {table}.",
                )
            chosen = database.execute(f"SELECT * FROM {spelled[table]}")
            read = [*count_cells(map(dict, chosen), path.name)]
    except sqlite3.Error as error:
        raise DataError(Problem(path.name, f"is no readable SQLite database: {error}")) from error
    plain = ({name: _plain(cell) for name, cell in row.items() if cell not in (None, "")} for row in read)
    return _number(plain, path.name), [f"table {table!r} of {', '.join(map(repr, rows))}"] if len(rows) > 1 else []


# -- tables of text ----------------------------------------------------------------------------------------------


def find_delimiter(text: str) -> str:
    """Return what separates the fields of a table: what divides its header and first rows into most fields, as many in each."""
    lines = [*islice(io.StringIO(text, newline=""), 4 * FIRST)]

    def fit(delimiter: str) -> tuple[float, int]:
        rows = [row for row in islice(csv.reader(lines, delimiter=delimiter), FIRST) if row]
        width = len(rows[0]) if rows else 0
        return (sum(len(row) == width for row in rows) / max(1, len(rows)) if width > 1 else 0.0, width)

    best = max(DELIMITERS, key=fit)
    return best if fit(best)[1] > 1 else ","


def cut_title(text: str) -> tuple[int, str]:
    """Return how many lines stand before the header of a table (its title, comments, blank lines), and the text from there on."""
    lines = [*islice(io.StringIO(text, newline=""), FIRST)]
    widths = {delimiter: [line.count(delimiter) for line in lines] for delimiter in DELIMITERS}
    before = 0
    while before < len(lines) - 1 and (not lines[before].strip() or lines[before].startswith(("#", "//"))):
        before += 1
    likely = max(widths.values(), key=lambda counts: sum(count > 0 for count in counts[before:]))
    if before < len(lines) - 2 and not likely[before] and min(likely[before + 1 : before + 6], default=0) > 0:
        before += 1  # a title in one cell
    return before, text if not before else "".join([*lines[before:], text[sum(map(len, lines)) :]])


def _read_text(path: Path, encoding: str | None = None) -> tuple[Records, list[str]]:
    text, encoding = decode_text(read_bounded(path), path.name, encoding)
    title, text = cut_title(text)
    delimiter = find_delimiter(text)
    csv.field_size_limit(LONGEST)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    check_header(reader.fieldnames or [], f"{path.name}:{title + 1}")
    records: Records = []
    line = title + reader.line_num + 1
    try:
        for row in count_cells(reader, path.name):
            place, line = f"{path.name}:{line}", title + reader.line_num + 1
            if None in row or None in row.values():
                records.append((place, Problem(place, "has another number of fields than the header"), row))
            elif any(row.values()):
                records.append((place, {key.strip(): value or None for key, value in row.items()}, row))
    except csv.Error as error:
        wrong = Problem(f"{path.name}:{line}", f"cannot be read as CSV: {error}")
        raise DataError(wrong, "Is a quote not closed?") from error
    shown = {"\t": "tabs", ";": "semicolons", "|": "bars"}
    notes = [f"encoding: {encoding}"] if encoding != "UTF-8" else []
    notes += [f"the first {title:,} lines stand before the header, and are left out"] if title else []
    if asked := _find_questions(records):
        check_width(asked.values(), path.name)
        records = [(place, {asked[key]: value for key, value in row.items()}, raw) for place, row, raw in records[2:]]
        notes.append("fields are named by the questions in the second row, as Qualtrics writes them")
    if records and _is_subheader(records[0][1]):
        notes.append("row 2 is left out: it says what kind of answer each column holds")
        records = records[1:]
    records = [(place, _split_results(row), raw) for place, row, raw in records]
    return records, [*notes, *([f"fields are separated by {shown[delimiter]}"] if delimiter != "," else [])]


def _split_results(row: Any) -> Any:
    """Return a row with its cells of promptfoo, `[PASS] a reply`, as a reply and its rating."""
    results = {key: _RESULT.match(str(value)) for key, value in row.items()} if isinstance(row, dict) else {}
    for key, match in results.items():
        if match is not None:
            row = {k: v for k, v in row.items() if k != key}
            row |= {f"{key}.response": str(match[2]), f"{key}.rating": str(match[1]).lower()}
    return row


def _is_subheader(row: Any) -> bool:
    """Return whether the first row of a table is the second part of its header, as SurveyMonkey writes it."""
    cells = {cell for cell in row.values() if cell is not None} if isinstance(row, dict) else set()
    return bool(cells) and cells <= {"Response", "Open-Ended Response", "Other (please specify)"}


def _find_questions(records: Records) -> dict[str, str]:
    """Return the name that each column has by its question, where the second and third row of a table are Qualtrics' own."""
    if len(records) < 3 or any(not isinstance(row, dict) for _, row, _ in records[:2]):
        return {}
    (_, questions, _), (_, ids, _) = records[:2]
    if not any(str(value).startswith('{"ImportId"') for value in ids.values()):
        return {}
    texts = [str(questions.get(key) or key).replace("Response ID", "Respondent ID") for key in ids]
    return {key: text if texts.count(text) == 1 else f"{text} ({key})" for key, text in zip(ids, texts)}


def _read_sheet(path: Path) -> tuple[Records, list[str]]:
    from openpyxl import load_workbook  # type: ignore[import-untyped]

    try:
        with path.open("rb") as opened, zipfile.ZipFile(opened) as archive:
            check_members(archive.infolist(), path.name, UNPACKED)
            for member in archive.namelist():
                if member.startswith("xl/worksheets/") and (empty := _EMPTY_FORMULA.search(archive.read(member))):
                    wrong = f"has a formula in {empty[1].decode()} that no program has computed, so it holds no value"
                    raise DataError(
                        Problem(path.name, wrong), "Open it in a spreadsheet program and save it, or save it as CSV."
                    )
            sheets = {
                sheet.title: [*count_cells(_iter_rows(sheet), f"{path.name}:{sheet.title}")]
                for sheet in load_workbook(opened, read_only=True, data_only=True).worksheets
            }
    except DataError:
        raise
    except Exception as error:  # whatever a broken archive holds
        raise DataError(Problem(path.name, f"is no readable .xlsx file: {error}")) from error
    full = {title: rows for title, rows in sheets.items() if sum(any(c is not None for c in row) for row in rows) > 1}
    if not full:
        raise DataError(Problem(path.name, "has no sheet with a header and rows"))
    tables = {title: _read_rows(path.name, title, rows) for title, rows in full.items()}
    first = max(tables, key=lambda title: len(tables[title]))
    header = {*tables[first][0][1]} if tables[first] else set()
    alike = [title for title, own in tables.items() if own and {*own[0][1]} == header]
    if len(alike) > 1:
        joined = [(at, {"sheet": title, **row}, raw) for title in alike for at, row, raw in tables[title]]
        notes = [
            f"sheets {', '.join(map(repr, alike))} of {', '.join(map(repr, sheets))}, whose names are in the field sheet"
        ]
        return joined, notes
    return tables[first], [f"sheet {first!r} of {', '.join(map(repr, sheets))}"] if len(sheets) > 1 else []


def _iter_rows(sheet: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a sheet without the empty cells at their ends, as many as there are and not as the sheet says."""
    sheet.reset_dimensions()
    for row in sheet.iter_rows(values_only=True):
        width = len(row)
        while width and row[width - 1] is None:
            width -= 1
        yield row[:width]


def _read_rows(name: str, title: str, rows: Sequence[Sequence[Any]]) -> Records:
    """Return the rows of a sheet below its header, which is the first row with several cells."""
    start = next((i for i, row in enumerate(rows) if sum(cell is not None for cell in row) > 1), len(rows) - 1)
    header = [str(cell).strip() if cell is not None else "" for cell in rows[start]]
    check_header(header, f"{name}:{title}:{start + 1}")
    records: Records = []
    for number, row in enumerate(rows[start + 1 :], start + 2):
        cells = {name: _plain(cell) for name, cell in zip(header, row) if name and cell not in (None, "")}
        if cells:
            records.append((f"{name}:{title}:{number}", cells, cells))
    return records


def _plain(cell: Any) -> Any:
    return cell if isinstance(cell, str | int | float | bool) else str(cell)
