"""`perslib synthesize`, `construct` and `review`, against an endpoint over HTTP."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest
from click.testing import CliRunner
from synthesis_made import Model
from ux_construct_made import COMPLAINED, LIKED, good_answer, log, shown

from perslib.cli import main
from perslib.corpus import load
from perslib.llm import Request
from perslib.systems.uxbench.loaders.uxbench import SPLITS


@pytest.fixture
def run(home, server):
    entry = (
        f'[here]\nbase_url = "{server.base_url}"\nmodel = "m"\nstructured = "schema"\nprices = {{ in = 1, out = 2 }}\n'
    )
    (home / "backbones.toml").write_text(entry)
    return lambda *words: CliRunner().invoke(main, [str(word) for word in words], prog_name="perslib")


@pytest.mark.sample
def test_a_pal_set_is_estimated_written_and_imported(run, home, server, monkeypatch):
    words = ["synthesize", home / "set", "-b", "here", "--users", 1, "--language", "en"]
    told = run(*words, "--dry-run")
    assert told.exit_code == 0, told.output
    assert "profiles" in told.output and "in all" in told.output and "$" in told.output
    assert server.bodies == [] and not (home / "set").exists(), "nothing is asked or written"

    server.reply = Model(monkeypatch, "en").says
    done = run(*words)
    assert done.exit_code == 0 and "1 of 1 users; 0 items rejected" in done.output, done.output
    assert run("import", "palset", home / "set", "--name", "mine").exit_code == 0
    assert len(load("mine").sessions) > 10
    asked = len(server.bodies)
    assert run(*words).exit_code == 0 and len(server.bodies) == asked, "a second run asks nothing"


@pytest.fixture
def bench(run, home, server):
    """A log of good and bad sessions, of which some are near duplicates, and an endpoint that keeps every case."""
    source = home / "log.jsonl"
    rows = log(*[LIKED, COMPLAINED] * 4).to_dict("records")
    for n, row in enumerate(rows):
        for message in row["history"]:
            message["message"] += f" ({n})"
    source.write_text("\n".join(map(json.dumps, rows)))
    steps = {
        shown(f"{step}_{side}"): f"{step}_{side}" for step in ("mine", "grade", "check") for side in ("good", "bad")
    }

    def says(body):
        name = steps[body["messages"][0]["content"]]
        return json.dumps(good_answer(Request(body["messages"], prompt=f"en/uxc_{name}@1:x")))

    server.reply = says
    return ["build", source, home / "bench", "-b", "here"]


def test_a_benchmark_is_estimated_constructed_reviewed_and_imported(run, home, server, bench):
    told = run(*bench, "--dry-run")
    assert told.exit_code == 0 and "tokens_in" in told.output, told.output
    assert "16 replies in the log. Not read: nothing" in told.output and "complain" in told.output
    assert server.bodies == [] and not (home / "bench").exists()

    done = run(*bench)
    assert done.exit_code == 0 and "5 cases, 0 in doubt" in done.output, done.output
    placed, left = (
        re.findall(r"In splits: (\d+) of 5 cases \(", done.output),
        re.findall(r"In none: (\d+)", done.output),
    )
    assert int(placed[0]) + sum(map(int, left)) == 5
    sheet = pd.read_csv(home / "bench" / "review.csv", dtype=str, keep_default_na=False)
    assert len(sheet) == 5
    sheet.assign(verdict=["reject", *["keep"] * 4]).to_csv(home / "anna.csv", index=False)
    sheet.assign(verdict=["reject", *["keep"] * 4]).to_csv(home / "ben.csv", index=False)
    kept = run("review", home / "bench", home / "anna.csv", home / "ben.csv")
    assert kept.exit_code == 0 and "4 cases are kept, 1 left out" in kept.output, kept.output
    assert "of 4 cases (" in kept.output
    assert "kappa anna–ben" in kept.output and "1.000" in kept.output
    assert run("import", "uxbench", home / "bench" / "splits", "--name", "own").exit_code == 0
    cases = load("own").extras["cases"]
    assert 0 < len(cases) <= 4 and sheet["case"][0] not in set(cases["case"])


def test_mistakes_are_sentences(run, home, bench):
    assert "no-such" in run("build", "no-such", home / "x", "-b", "here").stderr
    assert "Give the folder of a construction" in run("review", home, home / "anna.csv").stderr
    run(*bench)
    assert "there is no such file" in run("review", home / "bench", home / "anna.csv").stderr
    assert "nobody" in run("synthesize", home / "set", "-b", "nobody").stderr


def test_a_log_that_gives_no_case_says_at_which_step_and_why(run, home, server):
    source = home / "log.jsonl"
    source.write_text(json.dumps({"cid": "1", "history": [{"role": "user", "message": "Hello"}]}))
    left = home / "bench" / "splits" / f"{SPLITS['task2_eval']}.jsonl"
    left.parent.mkdir(parents=True)
    left.write_text("{}\n")
    done = run("build", source, home / "bench", "-b", "here")
    assert done.exit_code == 0 and server.bodies == []
    assert not left.exists(), "splits of an earlier run are none of this one's"
    assert "NO CASE IS LEFT; the step 'read and gate' left none, mostly for: no_exchange (1)" in done.output
    source.write_text("")
    assert "there was no session" in run("build", source, home / "bench", "-b", "here").output


def test_a_model_without_a_price_is_unpriced(run, home, bench):
    (home / "backbones.toml").write_text((home / "backbones.toml").read_text().replace("prices", "# prices"))
    assert run(*bench, "--dry-run").output.count("unpriced") == 4
