"""Names and addresses that no cue introduces, by two small models on this machine (extra `names`).

    deidentify(session, find=find_names)
    mine_log("log.jsonl", settings=SignalSettings(names="models"))

In Chinese texts names are those of LAC (a tagger of words), in others names and addresses those of Rampart (a tagger of
tokens). A Chinese name counts if it begins as names do, or follows a word for a relative; a Latin one if it has a capital.
Names in a text that speaks of nobody whom its writer knows
are left alone, and so are public persons, brands and ordinary words of the table of rules.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from perslib.extras import import_extra
from perslib.systems.uxbench.signals.model import SignalSettings
from perslib.systems.uxbench.signals.personal_data import NO_NAMES, Finder, Hit, expand_pattern, is_word
from perslib.systems.uxbench.signals.wording import language

AT_ONCE = 400
"""Characters that the model of Latin letters reads at a time; it was made for 512 tokens."""
LIKELY = 0.5
"""Least mean chance of a word's tokens to be part of a name."""
_PURPOSE = "Finding names by models"
_TIED = re.compile(expand_pattern("{tied}"), re.IGNORECASE)
_CHINESE_NAME = re.compile(expand_pattern("{found_name}"))
_GIVEN_NAME = re.compile(expand_pattern("[{han}]{2,3}"))
_RELATIVE = re.compile(expand_pattern("{relative}"))
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
#: What precedes the name of somebody who is talked of in public.
_PUBLIC = re.compile(
    r"(?:\b(?:about|who (?:is|was)|by|biography of|works of|life of|from) |[\u300a\u300c\u201c\"])$", re.IGNORECASE
)
_OWNER = re.compile("['’]s$")


class _Latin(NamedTuple):
    """A model that gives tokens their chances of being a name, a number of a house, or a street."""

    tokenizer: Any
    session: Any
    kinds: np.ndarray
    """Which of `_KINDS` each label is, or −1."""


_KINDS = (("GIVEN_NAME", "SURNAME"), ("BUILDING_NUMBER",), ("STREET_NAME", "SECONDARY_ADDRESS"))
_NAME, _NUMBER, _STREET = range(3)


def choose_finder(settings: SignalSettings) -> Finder | None:
    """Return what finds names beside the rules, if the settings say so."""
    return find_names if settings.names == "models" else None


def find_names(text: str) -> list[Hit]:
    """Return the names and addresses in a text, from left to right."""
    if not _TIED.search(text):
        return []
    return _find_chinese(text) if language(text) == "zh" else _find_latin(text)


def _find_chinese(text: str) -> list[Hit]:
    begin, before, names = 0, "", []
    for word, tag in _chinese().run(text):
        end = begin + len(word)
        if tag == "PER" and not is_word(word):
            related = _RELATIVE.fullmatch(before) and _GIVEN_NAME.fullmatch(word)
            if related or _CHINESE_NAME.fullmatch(word):
                names.append(Hit("NAME", begin, end, word))
        begin, before = end, word
    return names


@cache
def _chinese() -> Any:
    return import_extra("names", _PURPOSE)[0].LAC()


def _find_latin(text: str) -> list[Hit]:
    marked: list[Hit] = []
    for words in _join_words(text, _read_words(text)):
        kinds = [kind for _, _, kind in words]
        begin, end = words[0][0], words[-1][1]
        if kinds[0] == _NAME:
            if _PUBLIC.search(text, max(0, begin - 20), begin):
                continue
            end -= len(text[begin:end]) - len(_OWNER.sub("", text[begin:end]))
            marked.append(Hit("NAME", begin, end, text[begin:end].casefold()))
        elif _NUMBER in kinds and _STREET in kinds:
            marked.append(Hit("ADDRESS", begin, end, text[begin:end].casefold()))
    return marked


def _join_words(text: str, words: list[tuple[int, int, int]]) -> Iterator[list[tuple[int, int, int]]]:
    """Yield runs of words that make one name or one address: next to each other, a comma between parts of an address."""
    run: list[tuple[int, int, int]] = []
    for word in words:
        if run and (run[-1][2] == _NAME) == (word[2] == _NAME):
            between = text[run[-1][1] : word[0]]
            if between == " " or (word[2] != _NAME and between == ", "):
                run.append(word)
                continue
        if run:
            yield run
        run = [word]
    if run:
        yield run


def _read_words(text: str) -> list[tuple[int, int, int]]:
    """Return where the words that are part of a name or an address begin and end, and which part they are."""
    read = []
    for start, end in _cut(text):
        part = text[start:end]
        words = list(_WORD.finditer(part))
        if not any(word[0][0].isupper() for word in words):
            continue
        chances, offsets = _predict(part)
        for word in words:
            own = [i for i, (a, b) in enumerate(offsets) if a < word.end() and b > word.start() and b > a]
            if not own or (len(word[0]) < 2 and not word[0].isdigit()):
                continue
            mean = chances[own].mean(axis=0)
            kind = int(mean.argmax())
            if mean[kind] < LIKELY or (kind == _NAME and (not word[0][0].isupper() or word[0] in NO_NAMES)):
                continue
            read.append((start + word.start(), start + word.end(), kind))
    return read


def _cut(text: str) -> Iterator[tuple[int, int]]:
    """Yield the pieces in which a text is read: cut at a space, if there is one in its last quarter."""
    start = 0
    while start < len(text):
        end = min(len(text), start + AT_ONCE)
        if end < len(text) and (space := text.rfind(" ", start + AT_ONCE * 3 // 4, end)) > 0:
            end = space + 1
        yield start, end
        start = end


def _predict(text: str) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Return the chances of every token to be a name, a number, a street, and where each token stands."""
    model = _latin()
    encoded = model.tokenizer.encode(text)
    ids = np.array([encoded.ids[:512]], np.int64)
    given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    known = {one.name for one in model.session.get_inputs()}
    (logits,) = model.session.run(None, {name: value for name, value in given.items() if name in known})
    odds = np.exp(logits[0] - logits[0].max(axis=-1, keepdims=True))
    chances = odds / odds.sum(axis=-1, keepdims=True)
    parts = np.stack([chances[:, model.kinds == kind].sum(axis=1) for kind in range(len(_KINDS))], axis=1)
    return parts, encoded.offsets[:512]


@cache
def _latin() -> _Latin:
    _, package, runtime, tokenizers = import_extra("names", _PURPOSE)
    folder = Path(package.__file__).with_name("models") / "rampart"
    labels = json.loads((folder / "config.json").read_text("utf-8"))["id2label"]
    bare = [labels[str(i)].partition("-")[2] for i in range(len(labels))]
    kinds = [next((kind for kind, names in enumerate(_KINDS) if label in names), -1) for label in bare]
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    session = runtime.InferenceSession(folder / "onnx" / "model_q4.onnx", providers=["CPUExecutionProvider"])
    return _Latin(tokenizer, session, np.array(kinds))
