"""Stages of UXBench spread over two processes: the same tables as in this process, and every question asked once."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest
from endpoint import HASTY, Endpoint
from ux_construct_made import COMPLAINED, LIKED, log

pytest.importorskip("distributed")

from two_workers import two_workers

from perslib.llm import backbone
from perslib.llm.answerers.dry_run import fill_schema
from perslib.prompts import PromptSettings
from perslib.systems.uxbench.bench import Case, Recovery, UXJudge, judge_each_case, reply_to_cases, strategies_of
from perslib.systems.uxbench.construction import construct

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")]
TOOK = ["seconds", "cost", "backbone"]


@pytest.fixture(scope="module")
def cluster():
    with two_workers() as made:
        yield made


def said(body):
    """The plainest answer that fits what is asked."""
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    if schema is None:
        # Each case gets a reply of its own: equal questions, asked at once by two processes, may be asked twice.
        day = re.search(r"Plan day (\d)", str(body["messages"]))
        return f"Sorry. Here is the plan of day {day[1]}."
    return json.dumps(fill_schema(schema, schema, ""))


def on(url, home, monkeypatch, **options):
    monkeypatch.setenv("PERSLIB_HOME", str(home))
    return backbone("vllm-qwen3-8b", base_url=url, structured="schema", concurrency=8, patience=HASTY, **options)  # fmt: skip


def test_judging_answering_labelling_and_construction_are_spread(cluster, tmp_path, monkeypatch):
    cases = [
        Case(f"c{i}", f"Plan day {i}.", reply="Bath is a city.", complaint="I asked for a plan.", gold=-1)
        for i in range(6)
    ]
    complaints = {c.case: c.complaint for c in cases}

    def worked(model):
        replies = reply_to_cases(Recovery(form=PromptSettings("en")), cases, model, progress=False)
        made = construct(log(COMPLAINED, LIKED), miner=model, language="en", progress=False)
        return {
            "judged": judge_each_case(UXJudge(PromptSettings("en")), cases, model, progress=False),
            "answered": replies,
            "labelled": strategies_of(replies, complaints, PromptSettings(), model, progress=False),
            "funnel": made.funnel,
            "rejected": made.rejections,
        }

    with Endpoint(said) as server:
        here = on(server.base_url, tmp_path / "here", monkeypatch)
        alone = worked(here)
        asked = len(server.bodies)
        there = on(server.base_url, tmp_path / "there", monkeypatch, scheduler=cluster)
        together = worked(there)
        assert len(server.bodies) == 2 * asked == 2 * here.ledger.total.calls == 2 * there.ledger.total.calls
    for name, table in alone.items():
        left = [table.drop(columns=TOOK, errors="ignore"), together[name].drop(columns=TOOK, errors="ignore")]
        pd.testing.assert_frame_equal(*left)
    assert alone["judged"]["said"].tolist() == [1] * 6
    assert alone["answered"]["reply"].tolist() == [f"Sorry. Here is the plan of day {i}." for i in range(6)]
    assert alone["labelled"]["strategy"].tolist() == ["apology"] * 6
    assert alone["rejected"]["reason"].tolist().count("declined") == 2, "the miner names no case of either side"
