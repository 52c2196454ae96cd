"""The `perslib` command: help for strangers, errors as sentences, exit codes."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from made import GIFT, TRAVEL, simple_session, write_release

from perslib.cli import main
from perslib.corpus import load


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("PERSLIB_HOME", str(tmp_path / "work"))
    return lambda *words: CliRunner().invoke(main, [str(w) for w in words], prog_name="perslib")


def commands() -> list[str]:
    return sorted(main.commands)


@pytest.mark.parametrize("name", commands())
def test_every_command_and_option_is_explained(run, name):
    command = main.commands[name]
    assert command.help and len(command.help) > 60
    for option in (p for p in command.params if p.param_type_name == "option"):
        assert option.help, f"{name} {option.name} is not explained"
    shown = run(name, "--help")
    assert shown.exit_code == 0 and "Usage: perslib " + name in shown.output


def test_import_says_what_it_read(run, tmp_path):
    release = write_release(
        tmp_path / "release",
        {("User_0", TRAVEL, "0"): simple_session(), ("User_0", GIFT, "0"): simple_session("2")},
    )
    done = run("import", "persturnbench", release)
    assert done.exit_code == 0, done.output
    assert "mean satisfaction score 3" in " ".join(done.output.split())
    assert 'perslib.corpus.load("persturnbench")' in done.output
    assert len(load("persturnbench").turns) == 2


def test_import_skips_bad_sessions_only_when_told(run, tmp_path):
    release = write_release(
        tmp_path / "release",
        {("User_0", TRAVEL, "0"): simple_session(), ("User_0", GIFT, "0"): simple_session("0")},
    )
    refused = run("import", "persturnbench", release)
    assert refused.exit_code == 1
    assert refused.stderr.startswith("perslib: User_0/") and "Traceback" not in refused.output
    done = run("import", "persturnbench", release, "--skip-bad", "--name", "part")
    assert done.exit_code == 0 and "left out: 1 records" in done.output


def test_a_wrong_kind_shows_the_near_ones(run, tmp_path):
    done = run("import", "persturnbnech", tmp_path)
    assert done.exit_code == 1 and "Did you mean persturnbench" in done.stderr


def test_language_is_for_own_tables_only(run, tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"user": "u", "request": "你好", "response": "您好"}, ensure_ascii=False))
    assert run("import", "uss", file, "--language", "zh").exit_code == 2
    assert run("import", "table", file, "--language", "zh").exit_code == 0
    assert load("mine").language == "zh"


def test_parameters_need_a_value(run):
    done = run("report", "--parameter", "limit")
    assert done.exit_code == 2 and "'limit' is not NAME=VALUE" in done.stderr
