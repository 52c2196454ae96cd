"""From parts to a page: flowing prose, numbered lines, bullets, or headings with a table."""

from __future__ import annotations

from dataclasses import dataclass

from perslib.corpus.synthetic.words.books import Book

PROSE, NUMBERED, BULLETS, HEADINGS = range(4)


@dataclass(frozen=True)
class Piece:
    """One option, step or remark: a name, what it is, and concrete facts."""

    name: str
    text: str
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """A section: its heading and its pieces; the pieces of a numbered part are alternatives."""

    title: str
    pieces: list[Piece]
    numbered: bool = False
    flowing: bool = False


def lay_out(opening: str, parts: list[Part], closing: str, layout: int, book: Book) -> str:
    """The whole reply."""
    blocks = [opening, *(_part(part, layout, book) for part in parts), closing]
    return "\n\n".join(block for block in blocks if block)


def _part(part: Part, layout: int, book: Book) -> str:
    if part.numbered and layout == HEADINGS and len(part.pieces) > 1:
        return f"## {part.title}\n\n{_table(part, book)}"
    if part.numbered:
        lines = [_option(i, piece, layout, book) for i, piece in enumerate(part.pieces)]
    else:
        lines = [_line(i, piece, layout, book) for i, piece in enumerate(part.pieces)]
    if layout == PROSE:
        return book.space.join(lines)
    if layout == NUMBERED:
        named = any(piece.name for piece in part.pieces)
        return ("\n" if named else book.space).join(lines)
    title = f"**{part.title}**" if layout == BULLETS else f"## {part.title}"
    if part.flowing:
        lines = [piece.text for piece in part.pieces]
    return "\n".join([title, "", *lines])


def _facts(piece: Piece, book: Book) -> str:
    """What a piece says about itself, as sentences."""
    mark = "；" if book.language == "zh" else "; "
    body = book.finish(piece.text) if piece.text else ""
    facts = book.finish(mark.join(piece.facts)) if piece.facts else ""
    return book.joined([body, facts])


def _option(i: int, piece: Piece, layout: int, book: Book) -> str:
    number = book.talk.ORDINALS[i]
    if layout in (PROSE, NUMBERED):
        pattern = book.talk.OPTION_PROSE if layout == PROSE else book.talk.OPTION
        return book.joined([pattern.format(n=number, name=piece.name), _facts(piece, book)])
    lines = [line for line in (piece.text, *piece.facts) if line]
    head = f"- **{book.talk.OPTION.format(n=number, name=piece.name)}**"
    return "\n".join([head, *(f"  - {book.finish(line)}" for line in lines)])


def _line(i: int, piece: Piece, layout: int, book: Book) -> str:
    zh = book.language == "zh"
    if not piece.name:
        text = book.finish(piece.text)
        return text if layout in (PROSE, NUMBERED) else f"- {text}"
    if layout == PROSE:
        return book.finish(
            f"{piece.name}，{piece.text}" if zh else f"{piece.name}: {book.capital(piece.text)}"
        )
    colon = "：" if zh else ": "
    if layout == NUMBERED:
        counted = any(c.isdigit() or c == "第" for c in piece.name)
        return ("" if counted else f"{i + 1}. ") + book.finish(
            f"{piece.name}{colon}{book.capital(piece.text)}"
        )
    return f"- **{piece.name}**{colon}{book.finish(piece.text)}"


def _table(part: Part, book: Book) -> str:
    """The alternatives side by side: name, character, and the facts where there are any."""
    facts = any(piece.facts for piece in part.pieces)
    columns = 3 if facts else 2
    mark = "；" if book.language == "zh" else "; "
    rows = [" | ".join(book.talk.TABLE[:columns]), " | ".join(["---"] * columns)]
    for i, piece in enumerate(part.pieces):
        name = book.talk.OPTION.format(n=book.talk.ORDINALS[i], name=piece.name)
        rows.append(
            " | ".join(
                [name, book.capital(piece.text), book.capital(mark.join(piece.facts)) or "–"][:columns]
            )
        )
    return "\n".join(f"| {row} |" for row in rows)
