"""perslib against a server that others wrote: llama.cpp's own, over HTTP, with a real model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llama_server
import pytest
from click.testing import CliRunner
from endpoint import HASTY
from llama_server import ALIAS, CONTEXT, KEY

from perslib.cli import main
from perslib.corpus import load
from perslib.errors import Refused, Unreachable
from perslib.judge import JudgeSettings, Personal, evaluate, make_judge
from perslib.llm import Backbone, Cache, backbone, digit_distribution
from perslib.llm.answerers import embedded

pytestmark = [pytest.mark.server, pytest.mark.extra("xllamacpp")]

SCORE = {
    "type": "object",
    "properties": {
        "score": {"type": "integer", "minimum": 1, "maximum": 5},
        "why": {"type": "string", "maxLength": 40},
    },
    "required": ["score", "why"],
    "additionalProperties": False,
}


def start() -> tuple[subprocess.Popen[str], str]:
    """A server of its own process, and its base URL."""
    program = Path(llama_server.__file__)
    process = subprocess.Popen(
        [sys.executable, str(program), str(embedded.find_model_file())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **embedded.SLEEPING},
    )
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


def stop(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        stream.close()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    process, base_url = start()
    yield base_url
    stop(process)


@pytest.fixture
def third(home: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with an entry for the server as a user would write it."""
    monkeypatch.setenv("THIRD_KEY", KEY)
    (home / "backbones.toml").write_text(
        f'[third]\nbase_url = "{address}"\nmodel = "{ALIAS}"\nkey_env = "THIRD_KEY"\nconcurrency = 1\n'
        'prompts = "short"\nprices = { in = 1.0, out = 2.0 }\n',
        encoding="utf-8",
    )
    return home


def model(**options: Any) -> Backbone:
    return backbone("third", patience=HASTY, **options)


def test_check_finds_what_the_server_can_do_and_says_what_judging_costs(third):
    done = CliRunner().invoke(main, ["check", "third"], prog_name="perslib")
    assert done.exit_code == 0, done.output
    found = {line[:20].strip(): line[20:] for line in done.output.splitlines()}
    assert found["JSON schema"] == found["JSON mode"] == "enforced"
    assert found["log probabilities"] == "20 alternatives a token"
    assert found["seed"] == "repeats a reply"
    assert found["token usage"] == found["prefix-cache usage"] == "reported"
    assert found["context window"] == f"{CONTEXT:,} tokens", "that of the server, not the longer one of the model"
    assert (found["reasoning"], found["goes without"]) == ("no", "nothing")
    assert "one token a score, with its distribution; written judgments as JSON by schema" in done.output
    assert "at the entry's prices" in done.output
    assert KEY not in done.output + (third / ".perslib" / "probes.json").read_text("utf-8")


def test_the_probe_tells_what_holds_of_the_answers(third):
    probe = model().probe()
    assert (probe.schema, probe.json, probe.logprobs, probe.reasons) == (True, True, 20, False)
    drawn = [model(cache="off").ask("A random word?", temperature=1.0, max_tokens=8, seed=s) for s in (1, 1, 2)]
    assert drawn[0].text == drawn[1].text != drawn[2].text and probe.seed
    again = model(cache="off").ask("A random word?", temperature=1.0, max_tokens=8, seed=1)
    assert again.tokens_cached > 0 and again.counts_cached and probe.cached


def test_an_answer_by_schema_parses_and_says_who_gave_it(third):
    answer = model().ask("Score the reply 'Take the train.' from 1 to 5.", schema=SCORE, max_tokens=80, temperature=0)
    assert (answer.mode, answer.error, answer.finish) == ("schema", None, "stop")
    assert answer.data["score"] in range(1, 6) and isinstance(answer.data["why"], str)
    assert (answer.model, answer.backbone) == (ALIAS, "third")
    assert answer.cost == pytest.approx((answer.tokens_in + 2 * answer.tokens_out) / 1e6)
    sent = Cache(policy="only").read_request(answer.digest)
    assert sent["response_format"]["json_schema"]["schema"] == SCORE and KEY not in json.dumps(sent)


def test_log_probabilities_are_a_distribution_over_scores(third):
    asked = "Score the reply 'Take the train.' from 1 to 5. Answer with one digit.\nScore:"
    answer = model().ask(asked, max_tokens=1, top_logprobs=20, temperature=0)
    (token,) = answer.logprobs
    assert len(token["top"]) == 20 and token["token"] == answer.raw
    scores = digit_distribution(answer, weighed=True)
    assert set(scores) == set("12345") and sum(scores.values()) == pytest.approx(1)
    assert 0 < scores.mass <= 1 and 1 <= scores.mean <= 5


def test_a_judge_scores_replies_of_the_sample(third):
    judge = Personal(None, JudgeSettings("en", with_rationale=False, window=1, use_likeliest_digit=True))
    asked = model()
    verdicts = evaluate(judge, load("sample/en"), asked, limit=2, progress=False)
    assert len(verdicts) == 2 and verdicts["raw"].between(1, 5).all()
    took = asked.ledger.total
    assert took.calls == took.tokens_out == 2 and took.tokens_in > 100
    again = evaluate(judge, load("sample/en"), asked, limit=2, progress=False)
    assert list(again["raw"]) == list(verdicts["raw"]) and asked.ledger.total.calls == 2, "the cache has them"


def test_a_prompt_that_is_too_long_is_one_unscored_answer_with_the_servers_words(third):
    long, short = model().ask_many(["hello " * CONTEXT, "Hello?"], progress=False)
    assert long.error.startswith("too long: third: the endpoint at ")
    assert f"exceeds the available context size ({CONTEXT} tokens)" in long.error
    assert short.text, "others go on"


def test_a_model_that_the_server_does_not_have_is_answered_by_the_one_it_has_which_is_said(third):
    assert model(model="another-model").ask("Hello?", max_tokens=1).model == ALIAS


def test_a_wrong_key_and_a_wrong_address_name_their_remedies(third, address, monkeypatch):
    with pytest.raises(Refused, match=r"check base_url and model \('smollm2'\) of \[third\]"):
        model(base_url=address.removesuffix("/v1") + "/v2").ask("Hello?")
    monkeypatch.setenv("THIRD_KEY", "another-key")
    with pytest.raises(Refused, match=r"refused \(401\): Invalid API Key — check the key in THIRD_KEY") as caught:
        model().ask("Hello?")
    assert "another-key" not in str(caught.value)


def test_a_server_that_closes_is_an_error_that_says_where_it_was_looked_for(third):
    process, base_url = start()
    asked = model(base_url=base_url)
    assert asked.ask("Hello?", max_tokens=1).ok
    stop(process)
    started = time.monotonic()
    with pytest.raises(Unreachable, match=f"Nobody answers at {base_url}"):
        asked.ask("Are you there?", max_tokens=1)
    assert time.monotonic() - started < 30


def test_a_model_that_is_not_made_for_decisions_says_so(third: Path) -> None:
    found = backbone("third", patience=HASTY).probe()
    assert found.decisions == "" and found.no_decisions == "This model is not a decision model"
    with pytest.raises(Refused, match="This model is not a decision model"):
        asked = backbone("third", kind="decisions", decisions="systemone", patience=HASTY)
        evaluate(make_judge("decide"), load("sample/en"), asked, limit=1, progress=False)


def test_typed_questions_are_answered_a_token_each(third: Path) -> None:
    verdicts = evaluate(make_judge("decide"), load("sample/en"), backbone("third"), limit=2, progress=False)
    p = verdicts[[f"p{score}" for score in range(1, 6)]].astype(float)
    assert set(verdicts["mode"]) == {"token"} and p.sum(axis=1).tolist() == pytest.approx([1, 1])
