"""Messages in pieces: the same text as in one, and what is kept from one question to the next."""

from __future__ import annotations

import numpy as np
import pytest
from prompt_fields import fields

from perslib.paths import bundled
from perslib.prompts import prompt
from perslib.prompts.file import read_prompt_file
from perslib.prompts.pieces import key, pieces
from perslib.prompts.template import ENVIRONMENT, Sources

NAMES = sorted(p.stem for p in bundled("prompts", "en").glob("[!_]*.md"))


def environment(sources: Sources):
    return ENVIRONMENT.overlay(loader=sources.loader())


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", NAMES)
def test_pieces_say_what_the_whole_says(name, language):
    sources = Sources([bundled("prompts", language)])
    for _, body in read_prompt_file(f"{name}.md", sources).messages:
        made = environment(sources)
        values = fields(prompt(name, language))
        keys = {n: key(value) for n, value in values.items()}
        whole = made.from_string(body).render(values)
        cut = pieces(made, body)
        for _ in range(2):  # rendered, and kept
            assert "".join(p.render(values, keys) for p in cut).strip() == whole.strip()


def test_the_memory_of_a_block_is_rendered_once():
    sources = Sources([bundled("prompts", "en")])
    body = dict(read_prompt_file("judge_personal.md", sources).messages)["user"]
    cut = pieces(environment(sources), body)
    assert len(cut) > 4
    (memory,) = [piece for piece in cut if "memory" in piece.names]
    assert "reply" not in memory.names


def test_blocks_and_variables_stay_whole(tmp_path):
    (tmp_path / "_a.md").write_text("A {{ x }}\n")
    sources = Sources([tmp_path])
    sources.read("_a.md")
    made = environment(sources)
    within = 'one\n{% if x %}\n{% include "_a.md" %}\n{% endif %}\ntwo\n'
    around = '{% set y = x %}\n{% include "_a.md" %}\n{{ y }}\n'
    comment = '{# not here:\n{% include "_a.md" %}\n#}\nthree\n'
    for body in (within, around, comment):
        (alone,) = pieces(made, body)
        assert alone.render({"x": 1}, {"x": key(1)}) == made.from_string(body).render({"x": 1})
    beside = '{% if x %}\nyes\n{% endif %}\n{% include "_a.md" %}\nend\n'
    assert len(pieces(made, beside)) == 3


def test_equal_numbers_of_other_types_are_not_the_same():
    own = prompt("judge_personal", "en")
    values = fields(own)
    first = own.render(**(values | {"average": 4.0, "profile": {"age": 30}}))
    second = own.render(**(values | {"average": 4.0, "profile": {"age": 30.0}}))
    third = own.render(**(values | {"average": np.float64(4.0), "profile": {"age": 30}}))
    assert "30.0" in second.messages[1]["content"] and "30.0" not in first.messages[1]["content"]
    assert third.messages == first.messages


def test_a_value_changed_in_place_is_seen():
    own = prompt("judge_personal", "en")
    values = fields(own) | {"memory": [{"id": "M1", "field": "wish", "text": "Wants prices.", "task": None}]}
    before = own.render(**values).messages[1]["content"]
    values["memory"][0]["text"] = "Wants tables."
    after = own.render(**values).messages[1]["content"]
    assert "Wants prices." in before and "Wants tables." in after and "Wants prices." not in after
