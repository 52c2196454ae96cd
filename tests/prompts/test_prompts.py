"""Prompt files: strict checks with places, the user's folder, digests, the two languages, the bundled set."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from jsonschema_rs import Draft202012Validator
from prompt_fields import FIELDS, UNSEEN, answer, fields, text

from perslib.errors import PromptError, UnknownName
from perslib.paths import find_bundled
from perslib.prompts import PromptWarning, make_visible, prompt, prompts

LANGUAGES = ("en", "zh")
NAMES = sorted(p.stem for p in find_bundled("prompts", "en").glob("[!_]*.md"))
JUDGES = [name for name in NAMES if name.startswith("judge_")]
PLAIN = """---
version: 3
description: a prompt
temperature: 0.5
max_tokens: 9
placeholders:
  reply: what was said
  limit: a number
trusted: [limit]
---
# system

Be {{ limit }}.

# user

{{ reply | fence("reply") }}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's own folder of prompts, in a workspace that has none."""
    monkeypatch.setenv("PERSLIB_HOME", str(tmp_path / "workspace"))
    monkeypatch.delenv("PERSLIB_PROMPTS", raising=False)
    (tmp_path / "own" / "en").mkdir(parents=True)
    return tmp_path / "own"


def put(folder: Path, text: str, name: str = "own") -> Path:
    path = folder / "en" / f"{name}.md"
    path.write_text(text, encoding="utf-8")
    return path


def load(folder: Path, text: str):
    put(folder, text)
    return prompt("own", folder=folder)


# -- rendering ---------------------------------------------------------------------------------------------


def test_a_prompt_becomes_a_request(folder):
    own = load(folder, PLAIN)
    request = own.render(reply="Hi", limit=np.int64(3))
    assert [m["role"] for m in request.messages] == ["system", "user"]
    assert [m["content"] for m in request.messages] == ["Be 3.", "<<<reply>>>\nHi\n<<</reply>>>"]
    assert (request.temperature, request.max_tokens, request.schema) == (0.5, 9, None)
    assert request.prompt == own.label == f"en/own@3:{own.digest[:8]}"


def test_missing_and_unknown_placeholders_are_named_together(folder):
    own = load(folder, PLAIN)
    with pytest.raises(PromptError) as caught:
        own.render(repply="Hi", limit=1)
    said = str(caught.value)
    assert str(own.path) in said and "'repply' (did you mean reply?)" in said
    assert "'reply' is missing (what was said)" in said


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "would print None"), (["a"], "would print ['a']"), (True, "would print True"), (float("nan"), "nan")],
)
def test_what_is_no_text_or_number_is_not_printed(folder, value, said):
    with pytest.raises(PromptError, match=re.escape(said)) as caught:
        load(folder, PLAIN).render(reply="Hi", limit=value)
    assert "own.md:13:" in str(caught.value)


def test_objects_do_not_get_into_templates(folder):
    with pytest.raises(PromptError, match=r"reply\[1\]\.at has the type (Posix|Windows)?Path"):
        load(folder, PLAIN).render(reply=["a", {"at": Path()}], limit=1)


def test_a_field_that_an_item_lacks_is_named_with_its_line():
    judge = prompt("judge_episodic")
    item = fields(judge)["evidence"][0]
    evidence = [{k: v for k, v in item.items() if k != "request"}]
    with pytest.raises(PromptError, match=r"judge_episodic\.md:\d+: .*request"):
        judge.render(**fields(judge, evidence=evidence))


def test_a_message_needs_role_and_text():
    judge = prompt("judge_generic")
    with pytest.raises(PromptError, match=r"_context\.md:\d+: .*role"):
        judge.render(**fields(judge, conversation=[{"role": "narrator", "content": "…"}]))


# -- checks at loading -------------------------------------------------------------------------------------

FAULTS = {
    "unknown key": ("max_tokens", "max_token", r"own\.md:5: there is no field 'max_token'. Did you mean max_tokens\?"),
    "missing key": ("version: 3\n", "", r"own\.md:1: version is missing, expected a whole number"),
    "wrong type": ("version: 3", "version: three", r'own\.md:2: version is "three", expected a whole number'),
    "bad YAML": ("description: a prompt", "description: a: b", r"own\.md:3: .*not YAML"),
    "bad schema": ("max_tokens: 9", "schema: {type: strng}", r"own\.md:5: schema is not a JSON schema"),
    "no front matter": ("---\nversion", "version", r"own\.md:1: .*front matter"),
    "wrong role": ("# user", "# usr", r"own\.md:15: .*'usr' \(did you mean user\?\)"),
    "no heading": ("# system\n\nBe", "Be", r"own\.md:11: a message begins with a heading"),
    "empty message": ("Be {{ limit }}.", "", r"own\.md:11: the system message is empty"),
    "undeclared": ("Be {{ limit }}", "Be {{ limits }}", r"own\.md:13: \{\{ limits \}\} is not declared"),
    "syntax": ("Be {{ limit }}", "Be {{ limit", r"own\.md:1[3-9]: "),
    "unknown filter": ("limit }}", "limit | shout }}", r"own\.md:13: No filter named 'shout'"),
    "trusted, not declared": ("[limit]", "[limits]", r"own\.md:9: 'limits' is trusted but not declared"),
    "include lost": ("Be", '{% include "_no.md" %}Be', r"own\.md:13: _no\.md is in none of"),
    "import": ("Be", '{% import "_scale.md" as s %}Be', r"own\.md:13: .*include"),
    "unfenced": ('{{ reply | fence("reply") }}', "{{ reply }}", r"own\.md:17: .*outside a fence"),
    "unfenced in a loop": (
        '{{ reply | fence("reply") }}',
        "{% for r in reply %}{{ r.x }}{% endfor %}",
        r"own\.md:17: \{\{ r \}\} stands outside a fence",
    ),
    "unfenced by another name": (
        '{{ reply | fence("reply") }}',
        "{% set said = reply %}{{ said }}",
        r"own\.md:17: \{\{ said \}\} stands outside a fence",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_at_loading_with_file_and_line(folder, fault):
    old, new, said = FAULTS[fault]
    assert old in PLAIN
    with pytest.raises(PromptError, match=said):
        load(folder, PLAIN.replace(old, new, 1))


def test_an_included_file_is_held_to_the_same(folder):
    put(folder, "Look: {{ reply }}\n", "_piece")
    whole = PLAIN.replace("Be", '{% include "_piece.md" %}Be')
    with pytest.raises(PromptError, match=r"_piece\.md:1: \{\{ reply \}\} stands outside a fence"):
        load(folder, whole)
    put(folder, '{% include "_piece.md" %}\n', "_piece")
    with pytest.raises(PromptError, match=r"_piece\.md includes itself"):
        load(folder, whole)


def test_a_fence_block_may_hold_untrusted_values(folder):
    block = '{% filter fence("all") %}{% for r in reply %}{{ r }}.{% endfor %}{% endfilter %}'
    own = load(folder, PLAIN.replace('{{ reply | fence("reply") }}', block))
    assert "<<<all>>>\na.b.\n<<</all>>>" in own.render(reply=["a", "b"], limit=1).messages[1]["content"]


def test_a_file_in_another_encoding_is_said_to_be_so(folder):
    put(folder, "").write_bytes(PLAIN.encode().replace(b"Be", "é".encode("latin-1")))
    with pytest.raises(PromptError, match=r"own\.md: not UTF-8 at byte \d+"):
        prompt("own", folder=folder)


# -- where prompts come from -------------------------------------------------------------------------------


def test_names_that_are_not_there_bring_the_near_ones():
    with pytest.raises(UnknownName, match="judge_personal"):
        prompt("judge_personl")
    with pytest.raises(UnknownName, match="Known: en, zh"):
        prompt("judge_personal", language="xx")


def test_own_files_come_first_one_by_one(folder, monkeypatch):
    before = prompt("judge_generic")
    put(folder, "Score as you like.\n", "_scale")
    after = prompt("judge_generic", folder=folder)
    assert after.path == before.path and "Score as you like." in text(after)
    assert after.digest != before.digest  # the digest covers what is included
    assert prompt("judge_generic").digest == before.digest
    put(folder, PLAIN, "judge_generic")
    assert prompt("judge_generic", folder=folder).version == 3
    assert prompt("judge_generic", "zh", folder=folder).path == prompt("judge_generic", "zh").path
    monkeypatch.setenv("PERSLIB_PROMPTS", str(folder))
    assert prompt("judge_generic").version == 3


def test_the_workspace_comes_before_the_bundle(folder):
    own = folder.parent / "workspace" / "prompts"
    (own / "en").mkdir(parents=True)
    put(own, PLAIN, "judge_generic")
    assert prompt("judge_generic").path == own / "en" / "judge_generic.md"
    put(folder, PLAIN.replace("version: 3", "version: 4"), "judge_generic")
    assert prompt("judge_generic", folder=folder).version == 4


def test_a_folder_that_is_not_there_is_an_error(folder, monkeypatch):
    with pytest.raises(PromptError, match="folder="):
        prompt("judge_generic", folder=folder / "nowhere")
    monkeypatch.setenv("PERSLIB_PROMPTS", str(folder / "nowhere"))
    with pytest.raises(PromptError, match="PERSLIB_PROMPTS"):
        prompt("judge_generic")


def test_the_digest_is_the_same_on_every_system(folder):
    path = put(folder, PLAIN)
    first = prompt("own", folder=folder).digest
    path.write_bytes(b"\xef\xbb\xbf" + PLAIN.replace("\n", "\r\n").encode())
    assert prompt("own", folder=folder).digest == first
    path.write_text(PLAIN.replace("Be", "Do"))
    assert prompt("own", folder=folder).digest != first


def test_the_list_of_prompts():
    table = prompts()
    assert list(table.columns) == ["name", "language", "version", "digest", "path", "description"]
    ours = table[table["path"].str.startswith(str(find_bundled("prompts")))]
    assert {(n, lang) for n in NAMES for lang in LANGUAGES} <= set(zip(ours["name"], ours["language"]))
    assert table["digest"].str.fullmatch("[0-9a-f]{64}").all() and (table["description"] != "").all()


# -- the bundled prompts -----------------------------------------------------------------------------------


def shape(schema):
    """A schema without its words: enums of text by their length, everything else as it is."""
    if isinstance(schema, dict):
        return {k: len(v) if k == "enum" else shape(v) for k, v in schema.items()}
    return [shape(item) for item in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_say_the_same(name):
    en, zh = (prompt(name, language) for language in LANGUAGES)
    assert list(en.placeholders) == list(zh.placeholders) and en.trusted == zh.trusted
    assert shape(en.schema) == shape(zh.schema)
    assert (en.version, en.temperature, en.max_tokens) == (zh.version, zh.temperature, zh.max_tokens)
    assert [m["role"] for m in en.render(**fields(en)).messages] == [
        m["role"] for m in zh.render(**fields(zh)).messages
    ]


def test_both_languages_share_the_same_pieces():
    pieces = [{p.name for p in find_bundled("prompts", language).glob("*.md")} for language in LANGUAGES]
    assert pieces[0] == pieces[1]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_good_answers_fit_and_wrong_ones_do_not(name, language):
    asked = prompt(name, language)
    if asked.schema is None:
        return
    check = Draft202012Validator(asked.schema)
    assert check.is_valid(answer(asked)), list(check.iter_errors(answer(asked)))
    for key in asked.schema["required"]:
        assert not check.is_valid({k: v for k, v in answer(asked).items() if k != key})
    assert not check.is_valid({**answer(asked), "more": 1})
    if "score" in answer(asked):
        assert not check.is_valid({**answer(asked), "score": 6})
        assert not check.is_valid({**answer(asked), "reason": "boredom"})


def unbounded(schema) -> bool:
    """Whether some text or list in an answer may go on for ever."""
    if isinstance(schema, list):
        return any(map(unbounded, schema))
    if not isinstance(schema, dict):
        return False
    open_text = schema.get("type") == "string" and not {"enum", "maxLength"} & set(schema)
    open_list = schema.get("type") == "array" and "maxItems" not in schema
    return open_text or open_list or any(map(unbounded, schema.values()))


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_bounded_so_that_small_models_end(name):
    assert not unbounded(prompt(name).schema)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_judge_offers_the_same_reasons(language):
    labels = {
        "en": [
            "satisfied",
            "insufficient diversity",
            "unusable",
            "insufficient detail",
            "requirement not met",
            "other",
        ],
        "zh": ["满意", "不够多样", "不可用", "不够细致", "不满足需求", "其它"],
    }[language]
    for name in JUDGES:
        judge = prompt(name, language)
        if judge.schema is not None:
            assert judge.schema["properties"]["reason"]["enum"] == labels
            assert all(label in text(judge) for label in labels)


@pytest.mark.parametrize(
    ("name", "temperature"),
    [
        ("judge_personal", 0.6),
        ("judge_no_memory", 0.6),
        ("memory_build", 0.3),
        ("judge_generic", 0.2),
        ("judge_generic_fewshot", 0.2),
        ("judge_generic_rubric", 0.2),
        ("judge_generic_prometheus", 0.2),
        ("judge_episodic", 0.25),
        ("judge_episodic_boundary", 0.2),
        ("spur_induce", 0.3),
        ("spur_reduce", 0.3),
        ("spur_score", 0.3),
    ],
)
def test_temperatures_are_those_of_the_published_runs(name, temperature):
    assert prompt(name).temperature == temperature


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", [name for name in JUDGES if "written" in prompt(name).placeholders])
def test_the_score_alone_asks_for_no_json(name, language):
    judge = prompt(name, language)
    whole, alone = text(judge, written=True), text(judge, written=False)
    assert "JSON" in whole and "JSON" not in alone
    assert alone.endswith({"en": "Score:", "zh": "分数："}[language])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", JUDGES)
def test_what_is_constant_for_a_block_comes_first(name, language):
    """So that a server's prefix cache serves a block: instructions, memory and profile, task, talk, reply."""
    judge = prompt(name, language)
    said = {"task": "THE-TASK", "reply": "THE-REPLY", "conversation": [{"role": "user", "content": "THE-TALK"}]}
    said |= {"profile": "THE-PROFILE", "memory": "THE-MEMORY"}
    known = {k: v for k, v in said.items() if k in judge.placeholders}
    whole = text(judge, **known)
    marks = ["THE-MEMORY", "THE-PROFILE", "THE-TASK", "THE-TALK", "THE-REPLY"]
    places = [whole.index(mark) for mark in marks if mark in whole]
    assert places == sorted(places) and len(places) == len(known)
    system = judge.render(**fields(judge, **known)).messages[0]["content"]
    assert not any(mark in system for mark in marks)


def test_a_conversation_that_goes_on_keeps_the_beginning_of_its_prompt():
    judge = prompt("judge_generic")
    talk = fields(judge)["conversation"]
    short, longer = text(judge, conversation=talk[:1]), text(judge, conversation=talk)
    common = next(i for i, (a, b) in enumerate(zip(short, longer)) if a != b)
    assert common > short.index(talk[0]["content"]) + len(talk[0]["content"])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_every_value_reaches_the_model(name, language):
    asked = prompt(name, language)
    whole = text(asked)

    def leaves(value):
        if isinstance(value, dict):
            return [leaf for item in value.values() for leaf in leaves(item)]
        if isinstance(value, list):
            return [leaf for item in value for leaf in leaves(item)]
        return [value] if isinstance(value, str) else []

    unseen = {"Female", "DSAT", "user", "assistant", "travel"}  # translated, or shown in other words
    unseen |= UNSEEN | {note["field"] for note in FIELDS["memory"]}
    for value in fields(asked).values():
        assert all(make_visible(leaf) in whole for leaf in leaves(value) if leaf not in unseen)


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_scenario_has_its_own_rubric_in_either_naming(language):
    judge = prompt("judge_generic_rubric", language)
    pairs = [("travel", "旅行规划"), ("gift", "礼物准备"), ("recipe", "菜谱规划"), ("skill", "技能学习规划")]
    rubrics = [{text(judge, scenario=s).split("\n## ")[1] for s in pair} for pair in pairs]
    assert [len(both) for both in rubrics] == [1, 1, 1, 1] and len(set.union(*rubrics)) == 4
    other = text(judge, scenario="tax law").split("\n## ")[1]
    assert other not in set.union(*rubrics)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_not_known_leaves_no_empty_section(language):
    judge = prompt("judge_no_memory", language)
    whole = text(judge, profile={}, task="", conversation=[])
    assert whole.count("\n## ") + whole.startswith("## ") == 1  # the reply's


def test_any_memory_may_be_given_as_text():
    assert "Likes short answers." in text(prompt("judge_personal"), memory="Likes short answers.", counts=None)


def test_a_prompt_is_read_once_until_a_file_of_it_changes_or_another_comes_before_it(home):
    shelf = home / "prompts" / "en"
    shelf.mkdir(parents=True)
    first = prompt("judge_generic")
    assert prompt("judge_generic") is first
    piece = shelf / "_scale.md"
    piece.write_text("Scores run from 1 to 5.\n", "utf-8")
    second = prompt("judge_generic")
    assert second.digest != first.digest
    piece.write_text("Scores run from 1, poor, to 5.\n", "utf-8")
    third = prompt("judge_generic")
    assert len({first.digest, second.digest, third.digest}) == 3
    piece.unlink()
    assert prompt("judge_generic").digest == first.digest


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


def test_a_prompt_that_a_language_lacks_is_taken_from_english_with_one_warning(folder):
    put(folder, PLAIN.replace("Be", '{% include "_tone.md" %}Be'), "mine")
    put(folder, "In English.\n", "_tone")
    with pytest.warns(PromptWarning, match=r"'mine' does not exist in the language 'zh'.*zh/mine\.md") as told:
        lent = [prompt("mine", "zh", folder) for _ in range(3)]
    assert len(told) == 1 and lent[0] is lent[1] is lent[2]
    english = prompt("mine", folder=folder)
    assert lent[0] == english and lent[0].label.startswith("en/mine@3:")
    assert lent[0].render(reply="Hi", limit=1).messages == english.render(reply="Hi", limit=1).messages
    put(folder, "In plain English.\n", "_tone")
    with pytest.warns(PromptWarning):
        assert "plain" in prompt("mine", "zh", folder).render(reply="Hi", limit=1).messages[0]["content"]
    (folder / "zh").mkdir()
    (folder / "zh" / "mine.md").write_text(PLAIN.replace("version: 3", "version: 4"), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert prompt("mine", "zh", folder).label.startswith("zh/mine@4:")


def test_english_is_not_lent_what_another_language_has(folder):
    (folder / "zh").mkdir()
    (folder / "zh" / "mine.md").write_text(PLAIN, "utf-8")
    with pytest.raises(UnknownName, match="prompt in 'en' called 'mine'"):
        prompt("mine", "en", folder)
