"""De-identification by rules, before anything else is computed or kept (UXBench, section 3).

    deidentify(session, key)   texts with `[PHONE_1]` for what is personal, the same number for the same thing
                                 throughout the session; cid as a keyed digest; times shifted, gaps kept
    audit(texts)                 how often each rule hits; never what it hit

Earlier rules go before later ones. A rule is a pattern and, where there is one, a check: the digits of an identity card
or a bank card have to add up. Names are found by what introduces them, and then everywhere in the session; an ordinary
word before a title only there. What goes by one text only cannot know that "the tall one from the third floor" is a
person.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import cache
from typing import NamedTuple

import phonenumbers

from perslib.paths import read_toml
from perslib.systems.uxbench.loaders.log_records import LogSession
from perslib.systems.uxbench.signals.text_patterns import Patterns
from perslib.systems.uxbench.signals.wording import expand, to_simplified


class Rule(NamedTuple):
    """A kind of personal thing: how it is written, which group of the pattern holds it, and what must be true of it."""

    kind: str
    pattern: re.Pattern[str]
    group: int = 0
    check: Callable[[str], bool] | None = None
    needs: str = ""
    """What every text has in it that the pattern matches, in RE2's syntax: else it need not be tried."""


def is_identity_card(text: str) -> bool:
    """Return whether the digits of a resident's card of the PRC add up, with a birthday that can be one."""
    digits = re.sub(r"[ -]", "", text).upper()
    try:
        born = date(int(digits[6:10]), int(digits[10:12]), int(digits[12:14]))
    except ValueError:
        return False
    total = sum((10 if digit == "X" else int(digit)) * 2 ** (17 - i) for i, digit in enumerate(digits))
    return total % 11 == 1 and 1900 <= born.year <= date.today().year


def old_identity_card(text: str) -> bool:
    """Return whether fifteen digits begin as such a card of before 1999: a province, and a birthday in the last
    century.
    """
    try:
        date(1900 + int(text[6:8]), int(text[8:10]), int(text[10:12]))
    except ValueError:
        return False
    return 11 <= int(text[:2]) <= 82


def is_bank_card(text: str) -> bool:
    """Return whether thirteen digits or more, not all the same, add up (Luhn)."""
    digits = luhn_digits(text)
    total = sum(sum(divmod(int(digit) * (1 + i % 2), 10)) for i, digit in enumerate(reversed(digits)))
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and total % 10 == 0


def bank_account(text: str) -> bool:
    """Return whether an international account number has a length that such numbers have and adds up (ISO 13616)."""
    plain = text.replace(" ", "")
    return 15 <= len(plain) <= 34 and int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1


def company_code(text: str) -> bool:
    """Return whether the eighteen characters of a Chinese company's social credit code add up (GB 32100)."""
    values = ["0123456789ABCDEFGHJKLMNPQRTUWXY".index(c) for c in text]
    return (sum(value * 3**i for i, value in enumerate(values[:-1])) + values[-1]) % 31 == 0


def luhn_digits(text: str) -> str:
    """Return the digits alone."""
    return "".join(c for c in text if c.isdigit())


def _number(text: str, *regions: str) -> bool:
    """Return whether this can be dialled, from one of these countries, or from anywhere if it says which country it is
    in.
    """
    plain = "+" + text[2:] if text.startswith("00") else text
    for region in regions or (None,):
        try:
            if phonenumbers.is_possible_number(phonenumbers.parse(plain, region)):
                return True
        except phonenumbers.NumberParseException:
            continue
    return False


def _national(text: str) -> bool:
    """Return whether it is a number that somebody has in one of the countries whose numbers are written so."""
    for region in ("US", "GB", "DE", "FR", "CN", "JP", "AU"):
        try:
            if phonenumbers.is_valid_number(phonenumbers.parse(text, region)):
                return True
        except phonenumbers.NumberParseException:
            continue
    return False


def _address(text: str) -> bool:
    """Return whether it is the address of some machine, and not a way to say "this one" or "any"."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified or address.is_reserved or text in _ANYWHERE)


def _ipv6(text: str) -> bool:
    return (
        (text.count(":") == 7 or "::" in text)
        and any(c.isdigit() for c in text)
        and text.count(":") > 2
        and _address(text)
    )


def _coordinates(text: str) -> bool:
    lat, lon = (float(part) for part in re.split(r"\s*[,\uff0c]\s*", text))
    return 1 < abs(lat) <= 90 and 1 < abs(lon) <= 180 and (abs(lat) >= 10 or abs(lon) >= 10)


@cache
def _words() -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of two to four characters in jieba's dictionary that are no persons' names; and the names of
    public persons and brands: those that the dictionary counted often, and those of the table.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # importing it warns as old code does
        import jieba
    with jieba.get_dict_file() as file:
        entries = [line.decode("utf-8").split() for line in file]
    known = [(word, tag.startswith("nr"), int(count)) for word, count, tag in entries if 2 <= len(word) <= 4]
    public = (word for word, is_name, count in known if is_name and count >= _PUBLIC)
    words = frozenset(word for word, is_name, _ in known if not is_name)
    return words, frozenset(public).union(_SAID["no_chinese_names"])


def is_word(name: str) -> bool:
    """Return whether what was taken for a Chinese name is, or ends in, an ordinary word, as some given names do too."""
    words, public = _words()
    # A doubled character may be a word, and is no less a given name.
    twice = name[1:] if len(name) == 3 and name[1] == name[2] else ""
    if any(name[i:] in words or name[i:] in public for i in range(len(name) - 1) if name[i:] != twice):
        return True
    return name[-1] in _NO_GIVEN and name[:-1] in words


def is_public(name: str) -> bool:
    """Return whether a Chinese name is, or ends in, that of a public person or a brand."""
    return any(name[i:] in _words()[1] for i in range(len(name) - 1))


@cache
def _tagger() -> Callable[[str], Iterable[tuple[str, str]]]:
    """Return what separates words and tags them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jieba
        from jieba import posseg
    jieba.setLogLevel(logging.WARNING)
    return lambda text: [(word.word, word.flag) for word in posseg.cut(text)]


def is_name_before_role(name: str) -> bool:
    """Return whether what stands before a title is a surname, or a name and no ordinary word."""
    return len(name) == 1 or not is_word(name)


def is_given_name(name: str) -> bool:
    """Return whether a usual surname begins no word with what follows it; a given name by itself may be a word."""
    words, _ = _words()
    return name not in words and name[:2] not in words and not is_public(name)


def is_chinese_name(text: str) -> bool:
    """Return whether a surname with what follows is a name as jieba tags words, and nothing in it an ordinary word."""
    text = to_simplified(text)
    (_, tag), *further = _tagger()(text)
    return not further and tag.startswith("nr") and not is_word(text) and text[:2] not in _words()[0]


_SAID = read_toml(__file__, "personal_data.toml")
_PUBLIC = 30
"""So often a name stands in jieba's counts if it is a public person's."""
#: What makes an inhabitant or a thing of the word before it.
_NO_GIVEN = frozenset(_SAID["no_given"])
#: Addresses of machines that everybody has.
_ANYWHERE = frozenset(_SAID["anywhere"])
#: What begins with a capital in English and is no name.
NO_NAMES = frozenset(_SAID["no_names"])
TITLES = tuple(_SAID["titles"])
_CHECKS: dict[str, Callable[[str], bool]] = {
    "identity_card": is_identity_card,
    "bank_card": is_bank_card,
    "address": _address,
    "ipv6": _ipv6,
    "old_identity_card": old_identity_card,
    "ssn": lambda text: bool(re.match(r"(?!000|666|9)\d{3}(?!00)\d\d(?!0000)", re.sub(r"\D", "", text))),
    "uscc": company_code,
    "iban": bank_account,
    "international": _number,
    "national": _national,
    "chinese_mobile": lambda text: _number(luhn_digits(text)[-11:], "CN"),
    "seven_digits": lambda text: 7 <= len(luhn_digits(text)) <= 15,
    "is_no_day": lambda name: name.split()[0] not in NO_NAMES and name not in NO_NAMES and not name.endswith("Day"),
    "is_private_person": lambda name: name.split()[0] not in NO_NAMES and name.split()[-1] not in NO_NAMES,
    "given_name": is_given_name,
    "called": lambda name: "·" in name or name[:1] == name[1:] or not is_word(name),
    "role_name": is_name_before_role,
    "is_private": lambda name: not is_public(name),
    "coordinates": _coordinates,
    "is_no_word": lambda name: not is_word(name),
    "chinese_name": is_chinese_name,
    "is_not_famous": lambda text: not any(known in text for known in _SAID["famous"]),
}


def expand_pattern(pattern: str) -> str:
    """Return a pattern with the pieces that it names."""
    return expand(pattern, _SAID["pieces"])


def _rule(kind: str, needs: str, pattern: str, group: int = 0, check: str = "", any_case: bool = False) -> Rule:
    compiled = re.compile(expand_pattern(pattern), re.IGNORECASE if any_case else 0)
    needs = expand_pattern(needs).replace(_SAID["pieces"]["right"], "")  # RE2 looks at nothing beyond a match
    if any_case:  # `re` takes the Turkish letters for an i as well
        needs = f"(?i:{needs.replace('i', '[iıİ]')})"
    return Rule(kind, compiled, group, _CHECKS[check] if check else None, needs)


RULES = tuple(_rule(**rule) for rule in _SAID["rules"])
_EVERYWHERE = ("NAME", "ACCOUNT")
#: Wide and circled letters and digits, and what NFKC makes of them and of the signs that go with them: one character each.
_WIDE = "[\uff10-\uff19\uff20-\uff3a\uff41-\uff5a\u2460-\u2468\u2080-\u2089]"
_POINTS = (*range(0xFF01, 0xFF5F), *range(0x2460, 0x2469), *range(0x2080, 0x208A))
_NARROW = {point: unicodedata.normalize("NFKC", chr(point)) for point in _POINTS}
_NEEDED = Patterns([*(rule.needs for rule in RULES), _WIDE])
_YEARS_OF_SHIFT = 10 * 365 * 86_400


class Hit(NamedTuple):
    """A piece of text that a rule takes for personal."""

    kind: str
    start: int
    end: int
    value: str


Finder = Callable[[str], list[Hit]]
"""Says what in a text is personal beside what the rules find; `name_finder.find_names` is one."""


def hits(text: str, find: Finder | None = None) -> list[Hit]:
    """Return what is personal in a text, from left to right, without overlaps; of two rules the earlier wins.

    `find` says what else is, where no rule does.
    """
    candidates = _apply_rules(text) + (find(text) if find else [])
    chosen: list[Hit] = []
    for hit in candidates:
        if all(hit.end <= other.start or other.end <= hit.start for other in chosen):
            chosen.append(hit)
    return sorted(chosen, key=lambda hit: hit.start)


def _apply_rules(text: str) -> list[Hit]:
    """Return what each rule finds, rule by rule; they may overlap."""
    needed = _NEEDED.find_matches(text)
    if not needed:
        return []
    if len(RULES) in needed:
        text = text.translate(_NARROW)
        needed = _NEEDED.find_matches(text)
    matches: list[Hit] = []
    for rule in [RULES[number] for number in needed]:
        for match in rule.pattern.finditer(text):
            start, end = match.span(rule.group)
            if start < end and (rule.check is None or rule.check(match[rule.group])):
                matches.append(Hit(rule.kind, start, end, _same(rule, match[rule.group])))
    return matches


def _same(rule: Rule, value: str) -> str:
    """Return what makes two mentions one: digits without the signs between them, letters without case."""
    if rule.kind == "PHONE":
        return re.sub(r"[^\dX]", "", value.upper())[-11:]
    return re.sub(r"\W", "", value.upper()) if rule.kind in ("CARD", "ID") else value.casefold()


class Placeholders:
    """The placeholders of one session: the same thing, the same number."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[str, str], str] = {}
        self.known: dict[str, str] = {}

    def __call__(self, text: str, hits: Sequence[Hit]) -> str:
        """Return the text with placeholders for what was found in it."""
        parts, last = [], 0
        for hit in hits:
            shown = text[hit.start : hit.end]
            uncertain = text.startswith(TITLES, hit.end) and is_word(shown)
            parts += [text[last : hit.start], self._placeholder(hit, shown, uncertain)]
            last = hit.end
        return "".join([*parts, text[last:]])

    def _placeholder(self, hit: Hit, shown: str, uncertain: bool) -> str:
        key = hit.kind, hit.value
        if key not in self.numbers:
            number = sum(kind == hit.kind for kind, _ in self.numbers) + 1
            self.numbers[key] = f"[{hit.kind}_{number}]"
        if hit.kind in _EVERYWHERE and len(shown) > 1 and not uncertain:
            self.known[shown] = self.numbers[key]
        return self.numbers[key]

    def mentions(self, text: str) -> str:
        """Return the text with placeholders for names and accounts that were introduced elsewhere in the session."""
        for shown, placeholder in self.known.items():
            if shown in text:
                edge = r"\b" if shown.isascii() else ""
                text = re.sub(f"{edge}{re.escape(shown)}{edge}", placeholder, text)
        return text


def deidentify(
    session: LogSession, key: bytes | None = None, *, texts: bool = True, find: Finder | None = None
) -> LogSession:
    """Return the session with placeholders; with a `key`, also its id and its times are no longer what they were.

    Without `texts`, only id and times are replaced. `find` adds to what the rules find, in what users write: replies are
    full of places, products and authors, and names that users gave are replaced in them, too.
    """
    placeholders = Placeholders()
    replaced = originals = [m.text for m in session.messages]
    hits_of = [hits(m.text, find if m.role == "user" else None) for m in session.messages] if texts else []
    if any(hits_of):
        replaced = [placeholders(text, own) if own else text for text, own in zip(originals, hits_of)]
    elif key is None:
        return session
    if placeholders.known:
        replaced = [placeholders.mentions(text) for text in replaced]
    cid, shift = session.cid, 0.0
    if key is not None:
        digest = hmac.new(key, cid.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
        cid, shift = digest.hex()[:24], float(int.from_bytes(digest[24:], "big") % _YEARS_OF_SHIFT)
    messages = tuple(
        m if text is m.text and key is None else m._replace(text=text, t=None if m.t is None else m.t - shift)
        for m, text in zip(session.messages, replaced)
    )
    return session._replace(cid=cid, messages=messages)


def audit(texts: Iterable[str]) -> Counter[str]:
    """Return the hits per kind over all texts; what was hit is not kept."""
    return Counter(hit.kind for text in texts for hit in hits(text))
