"""Records against schemas: every fault is a sentence with its place and field."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from jsonschema_rs import meta

import perslib
from perslib.errors import Problem
from perslib.paths import read_toml
from perslib.schemas import check, read_schema

SCHEMA = """
[record]
type = "object"
required = ["name", "said"]
additionalProperties = false

[record.properties]
name = { "$ref" = "#/text" }
said = { type = "array", minItems = 1, items = { "$ref" = "#/turn" } }
age = { type = ["integer", "null"], minimum = 0, maximum = 150 }
share = { type = "number", exclusiveMinimum = 0, exclusiveMaximum = 1 }
level = { enum = ["low", "high"] }
version = { const = 2 }
code = { type = "string", minLength = 3, pattern = "^[a-z]*$" }
day = { type = "string", format = "day" }
key = { type = "string", pattern = "^[A-Z]*$", writeOnly = true, description = "a name in capitals" }
known = { type = "boolean" }
either = { anyOf = [{ type = "string" }, { type = "boolean" }], description = "a text or true or false" }
own = { not = {}, description = "another name: this one is ours" }
rated = { type = "object", propertyNames = { pattern = "^t", description = "t1, t2 and so on" } }

[turn]
type = "object"
required = ["content"]
properties = { content = { "$ref" = "#/text" } }
additionalProperties = false

[text]
type = "string"
pattern = '\\S'
description = "a text"
"""
GOOD = {"name": "Ann", "said": [{"content": "Hello."}]}


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    file = tmp_path_factory.mktemp("schemas") / "record.schema.toml"
    file.write_text(SCHEMA, "utf-8")
    return read_schema(str(file), file.name, "record", day=lambda text: text == "Monday")


def test_a_good_record_has_no_problems(schema):
    assert check({**GOOD, "age": None, "day": "Monday", "either": True, "rated": {"t1": 3}}, schema, "p") == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": 3}, "name is 3, expected a text"),
        ({"name": " "}, "name is empty, expected a text"),
        ({"name": None}, "name is missing, expected a text"),
        ({"said": []}, "said holds 0 items, expected at least 1 items"),
        ({"said": [{"content": "x"}, {"content": 4}]}, "said[1].content is 4, expected a text"),
        ({"said": [{}]}, "said[0].content is missing, expected a text"),
        ({"said": [{"content": "x", "contnt": 1}]}, "there is no field 'said[0].contnt'. Did you mean content?"),
        ({"zzz": 1}, "there is no field 'zzz'. Known: name, said, "),
        ({"age": "old"}, 'age is "old", expected a whole number'),
        ({"age": -1}, "age is -1, expected at least 0"),
        ({"age": 200}, "age is 200, expected at most 150"),
        ({"share": 0}, "share is 0, expected more than 0"),
        ({"share": 1.5}, "share is 1.5, expected less than 1"),
        ({"share": float("nan")}, "share is NaN, expected a number"),
        ({"level": "mid"}, 'level is "mid", expected one of "low", "high"'),
        ({"version": 1}, "version is 1, expected 2"),
        ({"code": "a"}, 'code is "a", expected at least 3 characters'),
        ({"code": "a" * 99 + "B"}, f'code is "{"a" * 59}…, expected a text of the form ^[a-z]*$'),
        ({"day": "soon"}, 'day is "soon", expected a day'),
        ({"day": datetime.date(2025, 4, 1)}, 'day is {"date": "2025-04-01"}, expected a text'),
        ({"key": "sk-secret"}, "key is not shown here, expected a name in capitals"),
        ({"known": 1}, "known is 1, expected true or false"),
        ({"either": 3}, "either is 3, expected a text or true or false"),
        ({"own": 3}, "own is 3, expected another name: this one is ours"),
        ({"rated": {"t1": 1, "x": 2}}, "rated.x is a wrong key, expected t1, t2 and so on"),
        ({"name": "\ud83d"}, "name holds half a character (a lone surrogate)"),
        ({"age": 10**30}, "age is a whole number of 31 digits; write it as text"),
    ],
)
def test_each_fault_is_a_sentence_with_its_field(schema, change, said):
    (problem,) = check({**GOOD, **change}, schema, "file.jsonl:3")
    assert problem.place == "file.jsonl:3" and problem.message.startswith(said)


def test_all_fields_at_fault_are_named_once(schema):
    problems = check({"name": 1, "said": [{"content": 1}, {"content": 2}], "age": -1.5}, schema, "p")
    assert sorted(p.message.split(" is ")[0] for p in problems) == ["age", "name", "said[0].content", "said[1].content"]
    assert check([1], schema, "p") == [Problem("p", "is [1], expected an object")]


def test_unknown_fields_can_be_counted_instead(schema):
    seen: list[str] = []
    record = {"name": "Ann", "said": [{"content": "x", "mood": "fine"}], "zzz": 1}
    assert check(record, schema, "p", seen.append) == []
    assert sorted(seen) == ["mood", "zzz"]
    assert [p.message for p in check({**record, "age": -1}, schema, "p", seen.append)] == [
        "age is -1, expected at least 0"
    ]


def test_our_schemas_are_schemas():
    files = sorted(Path(perslib.__file__).parent.rglob("*.schema.toml"))
    assert len(files) >= 6
    for file in files:
        for name, part in read_toml(str(file), file.name).items():
            assert isinstance(part, dict), f"{file.name}: {name} is no table"
            meta.validate(part)
