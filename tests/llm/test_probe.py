"""Probing an endpoint, and going by what was found."""

import json
from dataclasses import replace

import pytest
from endpoint import completion, reasoner, status

from perslib.errors import Refused
from perslib.llm import Answer, dry_run
from perslib.llm.abilities import read_probe, save_probe
from perslib.llm.probe import estimate_seconds, pace_of

SCORE = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}


def able(body):
    """An endpoint that can do everything."""
    form = body.get("response_format", {}).get("type")
    content = {"json_schema": '{"colour": "ultramarine", "score": 11}', "json_object": '{"greeting": "hi"}'}.get(
        form, f"Hello {body.get('seed')}!"
    )
    reply = completion(content)
    if body.get("logprobs"):
        top = [{"token": str(n), "logprob": -1.0 - n} for n in range(body["top_logprobs"])]
        reply["choices"][0]["logprobs"] = {"content": [{"token": "0", "logprob": -1.0, "top_logprobs": top}]}
    return reply


def unable(body):
    """An endpoint that takes every option and heeds none."""
    reply = completion("Hello, how are you?")
    del reply["usage"]
    return reply


def strict(body):
    """An endpoint that refuses what it does not know, and few alternatives a token only."""
    if "response_format" in body or body.get("top_logprobs", 0) > 5:
        return status(400, "unknown field")
    return able(body)


def test_an_able_endpoint(server, model):
    server.reply = able
    server.models = [{"id": "other", "max_model_len": 1}, {"id": "Qwen/Qwen3-8B", "max_model_len": 40960}]
    probe = model().probe()
    assert (probe.schema, probe.json, probe.logprobs, probe.seed) == (True, True, 20, True)
    assert (probe.usage, probe.cached, probe.context) == (True, True, 40960)
    assert "JSON schema         enforced" in probe.describe()
    assert "40,960 tokens" in probe.describe()


def test_an_endpoint_that_heeds_nothing(server, model):
    server.reply = unable
    probe = model().probe()
    assert (probe.schema, probe.json, probe.logprobs, probe.seed) == (False, False, 0, None)
    assert (probe.usage, probe.cached, probe.context) == (False, False, None)


def test_an_endpoint_that_refuses(server, model):
    server.reply = strict
    probe = model().probe()
    assert (probe.schema, probe.json, probe.logprobs) == (False, False, 5)


@pytest.mark.parametrize("code", [400, 403])
def test_refused_log_probabilities_are_not_supported_and_the_probe_goes_on(server, model, code):
    def reply(body):
        refused = "You are not allowed to request logprobs from this model"
        return status(code, refused) if "logprobs" in body else able(body)

    server.reply = reply
    probe = model().probe()
    assert (probe.logprobs, probe.schema, probe.seed) == (0, True, True)
    assert "log probabilities   not supported" in probe.describe()
    server.next(status(403, "Your key may not use this model"))
    with pytest.raises(Refused, match="the entry names no key_env"):
        model().probe()


@pytest.mark.parametrize(("said", "enforced"), [('{"greeting": "hi, hi, hi', True), ("Hello, hello, hello", False)])
def test_json_mode_is_seen_where_a_small_model_finds_no_end(server, model, said, enforced):
    def reply(body):
        form = body.get("response_format", {}).get("type")
        return completion(said, finish="length") if form == "json_object" else able(body)

    server.reply = reply
    assert model().probe().json == enforced


def test_check_says_what_judging_will_be_like(server, model):
    server.reply = reasoner
    probe = model().probe()
    assert (probe.reasons, probe.logprobs, probe.tokens_out) == (True, 0, 64)
    assert "goes without        logprobs, max_tokens, temperature" in probe.describe()
    assert "thoughts before each score (64 tokens for a greeting), scores without a distribution" in probe.verdict()
    server.reply = able
    assert "one token a score, with its distribution; written judgments as JSON by schema" in model().probe().verdict()


@pytest.mark.parametrize(("endpoint", "flag", "mode"), [(able, "text", "schema"), (unable, "schema", "text")])
def test_the_probe_is_trusted_over_the_flags(server, model, home, endpoint, flag, mode):
    (home / "backbones.toml").write_text(f'[vllm-qwen3-8b]\nstructured = "{flag}"\n')
    assert model(structured="auto").rung(SCORE) in ("schema", "text")
    server.reply = endpoint
    asked = model(structured="auto")
    asked.probe()
    assert asked.rung(SCORE) == mode
    assert model(structured="auto").rung(SCORE) == mode, "saved for later sessions"
    assert model(structured="json").rung(SCORE) == "json", "but an order is an order"


def test_logprobs_are_not_asked_of_an_endpoint_that_gave_none(server, model):
    server.reply = unable
    model().probe()
    model().ask("Score?", top_logprobs=5)
    assert "logprobs" not in server.bodies[-1]


def test_a_saved_probe_is_kept_per_endpoint_and_model(server, model, home):
    server.reply = able
    probe = model().probe()
    assert read_probe(model().entry) == probe
    assert read_probe(model(model="another").entry) is None
    (home / ".perslib" / "probes.json").write_text(json.dumps({f"{server.base_url} x": {"nonsense": 1}}))
    assert read_probe(model(model="x").entry) is None
    (home / ".perslib" / "probes.json").write_text("{")
    assert read_probe(model(model="x").entry) is None


def test_time_is_told_from_the_length_of_prompts_until_answers_tell_it(server, model):
    server.reply = able
    asked = model(concurrency=4)
    probe = asked.probe()
    assert max(len(str(body["messages"])) for body in server.bodies) > 4000, "a short prompt shows no pace of reading"
    assert probe.pace is not None and min(probe.pace) >= 0 and max(probe.pace) > 0
    took = [Answer(tokens_in=i, tokens_out=o, seconds=0.001 * i + 0.05 * o) for i, o in ((15, 40), (1200, 1), (10, 24))]
    save_probe(replace(probe, pace=pace_of(took)))
    assert estimate_seconds(asked.entry, 6000, 10, 40) == pytest.approx(6.5 / 4)
    assert estimate_seconds(asked.entry, 600, 10, 40) == pytest.approx(1.1 / 4)
    assert pace_of([Answer(seconds=1.0)]) is None
    save_probe(replace(probe, pace=None))
    assert estimate_seconds(asked.entry, 6000, 10, 40) is None


def test_what_is_longer_than_the_context_is_no_call_that_costs(server, model):
    server.reply, server.models = able, [{"id": "Qwen/Qwen3-8B", "max_model_len": 50}]
    model().probe()
    dry = dry_run(model(prices={"in": 1.0, "out": 1.0}).entry)
    short, long = dry.ask_many(["short", "long " * 100])
    assert short.ok and "about 129 tokens, and the model's context has 50" in long.error
    total = dry.ledger.total
    assert (total.calls, total.errors, total.tokens_in) == (2, 1, short.tokens_in)
