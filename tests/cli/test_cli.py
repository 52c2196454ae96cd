"""The `perslib` command: help for strangers, errors as sentences, exit codes."""

from __future__ import annotations

import errno
import importlib.util
import json
import re

import click
import palset_made
import pytest
from click.testing import CliRunner
from endpoint import completion, reasoner
from made import GIFT, TRAVEL, simple_session, write_release

from perslib import cli, registry
from perslib.cli import main
from perslib.corpus import load
from perslib.errors import PerslibError
from perslib.judge import judge_names


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("PERSLIB_HOME", str(tmp_path / "work"))
    return lambda *words: CliRunner().invoke(main, [str(w) for w in words], prog_name="perslib")


def commands() -> list[str]:
    return sorted(main.commands)


@pytest.mark.parametrize("name", commands())
def test_every_command_and_option_is_explained(run, name):
    _, command, _ = main.resolve_command(click.Context(main), [name])
    if hasattr(command, "load"):  # the line beside its name is written down where nothing is imported
        about, command = command.short_help, command.load()
        assert " ".join(command.help.split()).startswith(about.rstrip("."))
    assert command.help and len(command.help) > 60
    for option in (p for p in command.params if p.param_type_name == "option"):
        assert option.help, f"{name} {option.name} is not explained"
    shown = run(name, "--help")
    assert shown.exit_code == 0 and "Usage: perslib " + name in shown.output


def test_import_says_what_it_read(run, tmp_path):
    release = write_release(
        tmp_path / "release", {("User_0", TRAVEL, "0"): simple_session(), ("User_0", GIFT, "0"): simple_session("2")}
    )
    done = run("import", "persturnbench", release)
    assert done.exit_code == 0, done.output
    assert "mean satisfaction score 3" in " ".join(done.output.split())
    assert 'perslib.corpus.load("persturnbench")' in done.output
    assert len(load("persturnbench").turns) == 2


def test_import_skips_bad_sessions_only_when_told(run, tmp_path):
    release = write_release(
        tmp_path / "release", {("User_0", TRAVEL, "0"): simple_session(), ("User_0", GIFT, "0"): simple_session("0")}
    )
    refused = run("import", "persturnbench", release)
    assert refused.exit_code == 1
    assert refused.stderr.startswith("perslib: User_0/") and "Traceback" not in refused.output
    done = run("import", "persturnbench", release, "--skip-bad", "--name", "part")
    assert done.exit_code == 0 and "left out: 1 records" in done.output


@pytest.mark.parametrize(("bad", "is_said"), [(1, False), (2, True)])
def test_import_warns_in_bold_when_more_than_a_tenth_of_the_sessions_are_gone(tmp_path, monkeypatch, bad, is_said):
    monkeypatch.setenv("PERSLIB_HOME", str(tmp_path / "work"))
    file = tmp_path / "mine.jsonl"
    rows = [{"user": f"u{i}", "request": "q", "response": "r"} for i in range(12)]
    for row in rows[:bad]:
        row["response"] = 1
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["import", "table", str(file), "--skip-bad"]
    shown = CliRunner().invoke(main, words, color=True).output
    warning = "\x1b[1m2 of 12 sessions were left out; the rest may not be representative"
    assert (warning in shown) == is_said and ("\x1b[1m" in shown) == is_said
    assert f"note: sessions left out as bad: {bad}" in shown


@pytest.mark.system("mem_pal")
def test_import_shows_table_1_of_a_palset(run, tmp_path):
    done = run("import", "palset", palset_made.write_palset(tmp_path / "release"))
    lines = [line.split() for line in done.output.splitlines()]
    assert ["sessions", "1.5", "1.0", "25.7", "3.3"] in lines, done.output
    assert "NaN" not in done.output and "satisfaction" not in done.output


def test_import_says_which_split_is_used(run, tmp_path):
    users = {(f"User_{i}", s, "0"): simple_session() for i in range(5) for s in (TRAVEL, GIFT)}
    release = write_release(tmp_path / "release", users)
    assert "split: recomputed (seed 42, users with a block)" in run("import", "persturnbench", release).output
    split = {"train": ["User_0"], "test": [f"User_{i}" for i in range(1, 5)]}
    (release / "splits.json").write_text(json.dumps(split))
    done = run("import", "persturnbench", release)
    assert "split: splits.json, unlike the recomputed one" in done.output


def test_import_writes_no_control_characters_to_the_terminal(run, tmp_path):
    file = tmp_path / "mine.jsonl"
    row = {"user": "u", "request": "q", "response": "r", "scenario": "\x1b[2Jtravel\x9b\u202e"}
    file.write_text(json.dumps(row))
    done = run("import", "table", file)
    assert done.exit_code == 0 and "conversations: ⟨U+001B⟩[2Jtravel⟨U+009B⟩⟨U+202E⟩" in done.output
    file.write_text(json.dumps({**row, "score": 9, "\x1b[31m\ud800": 1}))
    refused = run("import", "table", file)
    assert refused.exit_code == 1 and r"⟨U+001B⟩[31m\ud800 holds half a character" in refused.stderr
    assert not {"\x1b", "\x9b", "\u202e"} & {*done.output, *refused.output}


@pytest.mark.kernel
def test_what_the_disk_does_not_take_is_a_sentence(run, tmp_path, monkeypatch):
    table = tmp_path / "mine.jsonl"
    rows = [{"user": "ada", "request": "hi", "response": "hello", "score": 4, "scenario": s} for s in "ab"]
    table.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    done = run("import", "table", table, "--name", "x" * 300)
    assert done.exit_code == 1 and "name too long" in done.stderr and done.stderr.startswith("perslib: ")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/somewhere/manifest.json")

    monkeypatch.setattr("perslib.report.run.manifest.write_text", full)
    done = run("report", "00", "--corpus", "sample/en", "--out", tmp_path / "out")
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1] == "perslib: /somewhere/manifest.json: No space left on device"


@pytest.mark.kernel
def test_a_dry_run_asks_nobody_and_writes_nothing(run, tmp_path):
    done = run("report", "00", "--dry-run", "-b", "embedded", "--limit", 2, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "00_corpus" in done.output and "about 2 calls" in done.output and "time unknown" in done.output
    assert not (tmp_path / "out").exists()


def test_a_wrong_kind_shows_the_near_ones(run, tmp_path):
    done = run("import", "persturnbnech", tmp_path)
    assert done.exit_code == 1 and "Did you mean persturnbench" in done.stderr


def test_language_is_for_own_tables_only(run, tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"user": "u", "request": "你好", "response": "您好"}, ensure_ascii=False))
    assert run("import", "persturnbench", file, "--language", "zh").exit_code == 2
    assert run("import", "table", file, "--language", "zh").exit_code == 0
    assert load("mine").language == "zh"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("seed=1", "seed has its own option: use --seed"),
        ("backbone=x", "has its own option: use --backbone"),
        ("limit=-1", "has its own option: use --limit"),
        ("other=[", "the value of other cannot be read"),
    ],
)
def test_parameters_that_cannot_be_passed_on(run, given, said):
    done = run("report", "-p", given)
    assert done.exit_code == 2 and said in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ("judges=measured, edited: prices first", "measured, edited: prices first"),
        ("history=3", 3),
        ("answers=true", True),
        ("notes= a: b ", "a: b"),
    ],
)
def test_parameters_are_numbers_yes_or_no_and_texts(run, monkeypatch, given, passed):
    found = {}
    monkeypatch.setattr("perslib.report.run_report", lambda *names, **further: found.update(further) or "it")
    assert run("report", "-p", given).exit_code == 0
    assert found[given.partition("=")[0]] == passed


def test_parameters_need_a_value(run):
    done = run("report", "--parameter", "limit")
    assert done.exit_code == 2 and "'limit' is not NAME=VALUE" in done.stderr


# -- models ------------------------------------------------------------------------------------------------


@pytest.fixture
def mine(run, tmp_path, server, monkeypatch):
    """A backbone of one's own, at the loopback endpoint, with a key in the environment."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.setenv("MY_API_KEY", "sk-not-to-be-found-anywhere")
    (folder / "backbones.toml").write_text(
        f'[mine]\nbase_url = "{server.base_url}"\nmodel = "m"\nkey_env = "MY_API_KEY"\n', encoding="utf-8"
    )
    return folder


def test_check_lists_the_backbones_there_are(run, mine, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    lines = {line.split()[0]: line for line in run("check").output.splitlines()}
    assert lines["embedded"].rstrip().endswith("none needed")
    assert lines["openai"].rstrip().endswith("OPENAI_API_KEY, not set")
    assert lines["mine"].rstrip().endswith("MY_API_KEY, set")


def test_check_prints_what_an_endpoint_can_do_and_remembers_it(run, mine):
    done = run("check", "mine")
    assert done.exit_code == 0, done.output
    found = dict(line.split(maxsplit=1) for line in done.output.splitlines() if " " in line)
    assert found["model"] == "m"
    assert "JSON schema         no" in done.output and "token usage         reported" in done.output
    assert "100 replies of sample/en" in done.output and "its price is not known" in done.output
    kept = mine / ".perslib" / "probes.json"
    assert kept.stat().st_mode == (mine / "backbones.toml").stat().st_mode, "who may read it is for the umask to say"


def test_check_says_what_judging_the_sample_costs(run, mine, server):
    toml = mine / "backbones.toml"
    toml.write_text(toml.read_text("utf-8") + "prices = { in = 1.0, out = 10.0 }\n", "utf-8")
    shown = run("check", "mine").output
    plainly = re.search(r"\$([\d.]+) at the entry's prices", shown)
    assert re.search(r"thousand tokens, \d+ (seconds|minutes) at \d+ calls at a time, \$", shown)
    server.reply = reasoner
    thinking = re.search(r"\$([\d.]+) at the entry's prices", run("check", "mine").output)
    assert plainly and thinking and float(thinking[1]) > float(plainly[1]) > 0


def test_check_estimates_for_the_corpus_that_is_named(run, mine, server):
    nowhere = run("check", "mine", "--corpus", "nowhere")
    assert nowhere.exit_code == 1 and "nowhere" in nowhere.stderr and not server.bodies
    assert "100 replies of sample/zh, judged by" in run("check", "mine", "--corpus", "sample/zh").output


@pytest.mark.sample
@pytest.mark.parametrize(("context", "judged", "beyond"), [
    (None, ("100", "few-shot"), None),
    (4096, ("100", "zero-shot"), None),
    (1450, ("some", "zero-shot"), ("some", "1,450")),
    (300, None, ("100", "300")),
])  # fmt: skip
def test_check_plans_no_question_beyond_the_context(run, mine, server, context, judged, beyond):
    server.models = [{"id": "m", "max_model_len": context}] if context else []
    shown = run("check", "mine").output
    plan = re.search(r"(\d+) replies of sample/en, judged by (\S+) from ([\d,]+) tokens each", shown)
    left = re.search(r"(\d+) of 100 questions of judge zero-shot are longer than its context of ([\d,]+) tokens", shown)
    assert (plan is not None, left is not None) == (judged is not None, beyond is not None), shown
    if plan and judged:
        assert plan[2] == judged[1] and plan[1] == (judged[0] if not left else str(100 - int(left[1])))
        assert int(plan[3].replace(",", "")) <= (context or 10**6)
    if left and beyond:
        assert left[2] == beyond[1] and left[1] == (beyond[0] if not plan else left[1])


def test_check_says_in_a_sentence_what_is_wrong(run, mine, monkeypatch):
    nobody = run("check", "vllm-qwen3-8b", "--model", "x")
    assert nobody.exit_code == 1 and nobody.stderr.startswith("perslib: Nobody answers at http://127.0.0.1:8000")
    monkeypatch.delenv("MY_API_KEY")
    assert "MY_API_KEY" in run("check", "mine").stderr
    assert "Did you mean mine" in run("check", "mien").stderr


def test_cache_lists_and_prunes(run, mine):
    from perslib.llm import backbone

    assert run("cache").output.startswith("The cache is empty")
    model = backbone("mine")
    for question in ("one", "two"):
        model.ask(question, stage="try")
    model.ask("three", stage="other")
    shown = run("cache").output
    assert "try" in shown and "3 entries" in shown
    assert run("cache", "prune", "--stage", "try").output.startswith("2 entries deleted")
    assert "1 entry, " in run("cache").output
    refused = run("cache", "prune")
    assert refused.exit_code == 1 and "Say what to forget" in refused.stderr


def test_a_verdict_opens_to_what_was_sent_and_the_raw_reply(run, mine, server):
    from perslib.corpus import load
    from perslib.judge import evaluate, make_judge
    from perslib.llm import Cache, backbone

    server.reply = lambda body: '{"score": 2, "reason": null, "rationale": "Too long."}'
    verdicts = evaluate(make_judge("Prometheus"), load("sample/en"), backbone("mine"), limit=2)
    asked = verdicts["asked"].iloc[0]
    assert Cache(policy="only").read_request(asked) in server.bodies
    shown = run("cache", "show", asked[:12]).output
    assert verdicts["prompt"].iloc[0] and "Too long." in shown and "== system" in shown and '"model": ' in shown
    nothing = run("cache", "show", "zz")
    assert nothing.exit_code == 1 and "have a digest that begins with 'zz'" in nothing.stderr


def test_thoughts_stand_before_the_reply_and_the_page_says_what_they_make_of_a_score(run, mine, server):
    from perslib.corpus import load
    from perslib.judge import evaluate, make_judge
    from perslib.judge.scope import StudyScope
    from perslib.llm import backbone
    from perslib.studies.shared import describe_conclusions

    def thinks(body):
        reply = completion("4")
        reply["choices"][0]["message"]["reasoning_content"] = "The budget was kept."
        return reply

    server.reply = thinks
    verdicts = evaluate(make_judge("Prometheus"), load("sample/en"), backbone("mine"), limit=3)
    shown = run("cache", "show", verdicts["asked"].iloc[0][:12]).output
    assert "== thoughts\nThe budget was kept.\n\n== the reply" in shown
    look = StudyScope(3, 5, "published", 6000, False)
    alone = verdicts.assign(rationale=None)
    assert "This model thinks before it answers: a score alone is a short answer" in describe_conclusions(alone, look)
    assert "thinks" not in describe_conclusions(alone.assign(asked=None), look)


def test_what_the_cache_holds_does_not_act_on_the_terminal(run, mine):
    from perslib.llm import backbone

    backbone("mine", model="\x1b]0;owned\x07m").ask("one", stage="\x1b[2Jtry")
    shown = run("cache").output
    assert "\x1b" not in shown and "\x07" not in shown and "⟨U+001B⟩[2Jtry" in shown


def test_a_key_is_in_no_file_and_on_no_screen(run, mine, server):
    """Even when the server repeats it."""
    from endpoint import status

    from perslib.llm import backbone

    model = backbone("mine")
    server.next(status(401, "Incorrect API key provided: sk-not-to-be-found-anywhere"))
    shown = [run("check", "mine").output, run("check", "mine").output, run("check").output, run("cache").output]
    server.reply = lambda body: "your key is sk-not-to-be-found-anywhere"
    answer = model.ask("Hello")
    shown += [repr(answer), repr(model), str(model.ledger.table())]
    (mine / "ledger.json").write_text(json.dumps(model.ledger.as_dict()), "utf-8")
    assert server.headers[-1]["Authorization"] == "Bearer sk-not-to-be-found-anywhere"
    files = [f for f in mine.rglob("*") if f.is_file()]
    assert any(f.name == "cache.sqlite" for f in files) and any(f.name == "ledger.json" for f in files)
    for text in [*shown, *(f.read_bytes().decode("utf-8", "replace") for f in files)]:
        assert "not-to-be-found" not in text


@pytest.mark.system("uxbench")
def test_systems_are_listed_with_what_they_lack(run, monkeypatch):
    def lacking(name, *more):
        return None if name == "re2" else find_spec(name, *more)

    find_spec = importlib.util.find_spec
    assert "needs:" not in run("systems").output
    monkeypatch.setattr(importlib.util, "find_spec", lacking)
    lines = run("systems").output.splitlines()
    after = lines[lines.index(next(line for line in lines if line.startswith("uxbench:"))) + 1]
    assert after.startswith("    needs: ") and after.endswith('[uxbench]"')
    refused = run("review", "bench", __file__)
    assert refused.exit_code == 1 and "perslib review needs" in refused.output and "[uxbench]" in refused.output
    assert run("synthesize", "--help").exit_code == 0


def test_an_app_without_voila_is_refused_with_the_command_that_installs_it(run, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "voila" else find_spec(name, *more)
    )
    refused = run("app")
    assert refused.exit_code == 1 and "needs jupyterlab, voila" in refused.output and '[lab]"' in refused.output


THEIRS = """
from perslib.registry import System
GOOD = System("theirs", "mine", {"judge": ("theirs_leaves",)}, {"gone": ("no.where:at", "…"), "odd": ("json:loads", "…"), "report": ("json:loads", "")})
OTHER_OPTIONS = System("theirs", "mine", options={"systems": "no.where:at"})
def make(): pass
def none(): return System("theirs", "", commands=None)
"""


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """Installs a distribution with this line as its entry point, beside perslib's own."""

    def install(line):
        folder = tmp_path / "theirs-1.0.dist-info"
        folder.mkdir(exist_ok=True)
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[perslib.systems]\n{line}\n")
        (tmp_path / "theirs_here.py").write_text(THEIRS)
        for name, code in {
            "leaves": "raise SystemExit(3)",
            "none": "from theirs_here import none; NONE = none()",
        }.items():
            (tmp_path / f"theirs_{name}.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)
        registry.find_systems.cache_clear()

    yield install
    registry.find_systems.cache_clear()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("theirs = no.such.module:SYSTEM", "theirs of theirs: cannot be used: ModuleNotFoundError"),
        ("theirs = json", "a module is no perslib.registry.System"),
        ("theirs = perslib.registry:System", "is no perslib.registry.System"),
        ("theirs = theirs_here:make", "is no perslib.registry.System"),
        ("theirs = theirs_none:NONE", "are tables"),
        ("theirs = theirs_leaves:SYSTEM", "SystemExit: 3"),
        ("theirs", "cannot be used"),
        ("theirs = ", "cannot be used"),
        ("deus = theirs_here:GOOD", "deus of theirs: cannot be used: ValueError: there is a system of this name"),
    ],
)
def test_a_system_that_cannot_be_loaded_says_why_and_stops_nothing(run, theirs, line, why):
    theirs(line)
    shown = run("systems")
    assert (
        shown.exit_code == 0 and why in shown.output and "theirs" in shown.output and "deus: patience" in shown.output
    )
    assert "learned" in judge_names() and run("report", "--help").exit_code == 0


def test_what_a_system_brings_and_is_not_there_is_a_sentence(run, theirs):
    theirs("theirs = theirs_here:GOOD")
    system = registry.find_systems()["theirs"]
    for name, why in {"gone": "ModuleNotFoundError", "odd": "is no command of click's"}.items():
        command = cli._Elsewhere(name, system.commands[name][0], "", system)
        with pytest.raises(PerslibError, match=why):
            command.load()
    with pytest.warns(UserWarning, match=r"theirs_leaves of the system 'theirs' cannot be used \(SystemExit"):
        assert "learned" in judge_names()
    theirs("theirs = theirs_here:OTHER_OPTIONS")
    shown = run("systems")
    assert shown.exit_code == 0 and "no.where:at of the system 'theirs' cannot be used" in shown.output
