"""The encoding of a table of text: UTF-8 where it is, otherwise the one in which its letters are those of a language.

Where texts in two encodings are both plausible and differ, that is a question (`--encoding`); none is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from perslib.corpus.files.reading import not_utf8
from perslib.errors import DataError, Problem

_SIGNS = "¿¡«»–—“”‘’„…€°§£·ºª\u00a0"
#: The letters above ASCII of languages that are written in Latin letters, in lower case.
_WESTERN = ("äöüß", "éèêëàâçîïôœùûüÿæ", "áéíóúñü", "áâãàçéêíóôõúü", "àèéìíòóùú", "åäöæøé")
_CENTRAL = ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîşţșț", "čćđšž")
#: The share of characters above ASCII that must be letters of the language; and, of all letters, above ASCII at most in a Latin one.
NEARLY_ALL, LATIN = 0.97, 0.4
#: Of characters of two bytes: the share that is in common use.
COMMON = 0.9


def _is_latin(*alphabets: str) -> Callable[[str, str], bool]:
    def fits(text: str, above: str) -> bool:
        plain, lower = len(re.findall("[A-Za-z]", text)), above.lower()
        share = max(sum(c in alphabet or c in _SIGNS for c in lower) for alphabet in alphabets)
        return share >= NEARLY_ALL * len(above) and len(above) <= LATIN * (len(above) + plain)

    return fits


def _is_cyrillic(text: str, above: str) -> bool:
    letters = re.findall("[\u0401\u0410-\u044f\u0451]", above)
    mixed = len(re.findall("[A-Za-z][\u0401\u0410-\u044f\u0451]|[\u0401\u0410-\u044f\u0451][A-Za-z]", text))
    is_lower = sum(c.islower() for c in letters) >= 0.6 * len(letters)
    return len(letters) >= 0.9 * len(above) and is_lower and mixed <= 0.1 * len(letters)


def _is_common(encoding: str, first: range, signs: range, script: str = "") -> Callable[[str, str], bool]:
    """Return whether characters are in common use, by the first of their two bytes; and of the script of a language."""

    def fits(text: str, above: str) -> bool:
        coded = [c.encode(encoding, "ignore") for c in above]
        usual = sum(len(code) == 2 and (code[0] in first or code[0] in signs) for code in coded)
        return usual >= COMMON * len(above) and (not script or len(re.findall(script, above)) >= 0.15 * len(above))

    return fits


_KANA = "[\u3041-\u30ff]"
_PLAUSIBLE: dict[str, Callable[[str, str], bool]] = {
    "gb18030": _is_common("gb2312", range(0xB0, 0xD8), range(0xA1, 0xAA)),
    "big5": _is_common("big5", range(0xA4, 0xC7), range(0xA1, 0xA4)),
    "shift_jis": _is_common("shift_jis", range(0x88, 0x98), range(0x81, 0x84), _KANA),
    "euc_jp": _is_common("euc_jp", range(0xB0, 0xD0), range(0xA1, 0xA6), _KANA),
    "cp949": _is_common("euc_kr", range(0xB0, 0xC9), range(0xA1, 0xAD), "[\uac00-\ud7a3]"),
    "cp1251": _is_cyrillic,
    "koi8-r": _is_cyrillic,
    "iso8859-5": _is_cyrillic,
    "cp866": _is_cyrillic,
    "cp1252": _is_latin(*_WESTERN),
    "cp1250": _is_latin(*_CENTRAL),
    "iso8859-2": _is_latin(*_CENTRAL),
}
_SPELLED = {"gb18030": "GB18030", "big5": "Big5", "shift_jis": "Shift-JIS", "koi8-r": "KOI8-R"}


def decode_text(raw: bytes, name: str, encoding: str | None = None) -> tuple[str, str]:
    """Return a text and its encoding; DataError where several are plausible, and where none is."""
    if encoding:
        try:
            return raw.decode(encoding), encoding
        except (LookupError, UnicodeDecodeError) as error:
            raise DataError(Problem(name, f"cannot be read as {encoding}: {error}")) from error
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16"), "UTF-16"
    zeros = raw[:4000].count(b"\0"), raw[1:4000:2].count(b"\0")
    if zeros[0] > 0.2 * len(raw[:4000]):
        wide = "utf-16-le" if 2 * zeros[1] > zeros[0] else "utf-16-be"
        return raw.decode(wide), "UTF-16 without a mark"
    try:
        return raw.decode("utf-8-sig"), "UTF-8"
    except UnicodeDecodeError as error:
        wrong = DataError(not_utf8(raw, error, name))
        above = sum(byte > 127 for byte in raw)
        in_utf8 = sum(byte > 127 for byte in raw.decode("utf-8", "ignore").encode())
        if 2 * in_utf8 >= above or b"\0" in raw or error.reason == "unexpected end of data":
            raise wrong from error
        read = _read_plausible(raw, _PLAUSIBLE) or _read_plausible(raw, {"cp1252": _is_latin("".join(_WESTERN))})
        if not read:
            raise wrong from error
        if len(read) > 1:
            shown = " or ".join(_SPELLED.get(own, own) for own in read.values())
            remedy = f"Say which: --encoding {next(iter(read.values()))}, or save the file as UTF-8."
            raise DataError(Problem(name, f"is not UTF-8, and may be {shown}"), remedy) from error
        ((text, own),) = read.items()
        return text, _SPELLED.get(own, own)


def _read_plausible(raw: bytes, encodings: Mapping[str, Callable[[str, str], bool]]) -> dict[str, str]:
    """Return the different texts that bytes plausibly are, with the first encoding of each."""
    read: dict[str, str] = {}
    for encoding, fits in encodings.items():
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        above = "".join(c for c in text if c > "\x7f")
        if fits(text, above):
            read.setdefault(text, encoding)
    return read
