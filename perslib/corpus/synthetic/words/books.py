"""The texts of one language as modules: `book("zh").talk.DEMANDS`, `book("en").scenario("travel").FOCUS`."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from perslib.errors import UnknownName

SCENARIOS = ("travel", "gift", "recipe", "skill")
LANGUAGES = ("en", "zh")


class Book:
    """All texts of one language."""

    def __init__(self, language: str):
        self.language = language
        self.space = "" if language == "zh" else " "
        self.talk = self._module("talk")
        self.life = self._module("life")
        self._scenarios = {name: self._module(name) for name in SCENARIOS}

    def _module(self, name: str) -> ModuleType:
        return import_module(f"{__package__}.{self.language}_{name}")

    def scenario(self, name: str) -> ModuleType:
        """The texts of one scenario."""
        return self._scenarios[name]

    def capital(self, text: str) -> str:
        """The text as the beginning of a sentence."""
        return text[:1].upper() + text[1:]

    def finish(self, text: str) -> str:
        """The text as a whole sentence, with its full stop if it lacks one."""
        text = text.strip()
        if not text:
            return ""
        if text[-1] in "。！？.!?:：”":
            return self.capital(text)
        return self.capital(text) + ("。" if self.language == "zh" else ".")

    def joined(self, sentences: list[str]) -> str:
        """Sentences one after another."""
        return self.space.join(self.finish(s) for s in sentences if s.strip())

    def listed(self, things: list[str]) -> str:
        """Things in a row: `a, b and c`."""
        if self.language == "zh":
            return "、".join(things)
        return things[0] if len(things) == 1 else ", ".join(things[:-1]) + " and " + things[-1]


_BOOKS: dict[str, Book] = {}


def book(language: str) -> Book:
    """The texts of a language, loaded once."""
    if language not in LANGUAGES:
        raise UnknownName("language of the synthetic world", language, LANGUAGES)
    if language not in _BOOKS:
        _BOOKS[language] = Book(language)
    return _BOOKS[language]
