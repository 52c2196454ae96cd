"""Published score files on the replay page: their own aggregates, and comparisons with the recorded replies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from histories import corpus_of

from perslib.corpus import Corpus
from perslib.errors import DataError
from perslib.studies import replay_published as elsewhere
from perslib.studies import replay_standings as results

RAW = {"A": [4, 4, 3, 5, 3], "B": [5, 4, 4, 5], "C": [4, 3, 4]}
JUDGE = {"judge_model": "Qwen3-8B", "judge_memory_model": "qwen", "judge_config": "memory"}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    rows = [(user, "travel", "0", f"wish {i}", f"reply {i}", 4) for user, own in RAW.items() for i in range(len(own))]
    return corpus_of(rows)


def lines(file: Path, more: dict[str, Any], add: float = 0, method: str = "", raw: int = 3) -> str:
    """A published file with these scores, plus `add` for every user's first turn; its path."""
    records = []
    for user, own in RAW.items():
        for i, score in enumerate(own):
            keys = {"user": user, "target_task": "travel", "target_file": "0.json", "turn_idx": i}
            given = {"pred_score": score + (add if i == 0 else 0)}
            calibrated = {"pred_score_raw": raw, "calibration_method": method} if method else {}
            records.append({**keys, **more, **given, **calibrated})
    file.write_text("\n".join(map(json.dumps, records)), "utf-8")
    return str(file)


def candidate(name: str) -> dict[str, Any]:
    return {"candidate_model": name, "replay_context_mode": "raw", "candidate_response": "Yes.", **JUDGE}


PREDICTED = {"model": "Qwen3-8B", "memory_model": "qwen", "with_memory": True}


def test_published_scores_aggregate_to_the_published_numbers(corpus: Corpus, tmp_path: Path) -> None:
    file = lines(tmp_path / "scored.jsonl", candidate("m"), method="reference_cdf")
    (row,) = elsewhere.aggregate_scores(file, corpus).to_dict("records")
    assert row["score"] == "reference_cdf" and row["turns"] == 12
    assert row["micro"] == 4.0 and row["dsat"] == 0.25
    macro = [row[f"user_macro{end}"] for end in ("", "_low", "_high")]
    assert macro == pytest.approx([3.9888889, 3.6666667, 4.5])
    assert [row[f"n{s}"] for s in range(1, 6)] == [0, 0, 3, 6, 3]


def test_candidates_of_published_files_against_the_recorded_replies(corpus: Corpus, tmp_path: Path) -> None:
    scored = [lines(tmp_path / "m.jsonl", candidate("m"), add=-1), lines(tmp_path / "n.jsonl", candidate("n"), add=-2)]
    recorded = lines(tmp_path / "recorded.jsonl", PREDICTED)
    found = elsewhere.compare_scores(", ".join(scored), recorded, corpus)
    shown = found.set_index(["candidate", "other"])[["n", "win", "tie", "lose", "mean_delta"]]
    assert set(found["score"]) == {"raw"}
    assert shown.loc[("m", "original")].tolist() == pytest.approx([12, 0, 9 / 12, 3 / 12, -3 / 12])
    assert shown.loc[("n", "original")].tolist() == pytest.approx([12, 0, 9 / 12, 3 / 12, -6 / 12])
    assert shown.loc[("m", "n")].tolist() == pytest.approx([12, 3 / 12, 9 / 12, 0, 3 / 12])
    assert len(found) == 3
    table = results.order_outcomes(found)
    assert table["against"].tolist() == ["n", "original", "original"] and "score" not in table
    alone = elsewhere.compare_scores(", ".join(scored), "", corpus)
    assert alone[["candidate", "other"]].to_numpy().tolist() == [["m", "n"]]
    assert elsewhere.compare_scores(scored[0], "", corpus).empty


def test_the_calibration_of_the_recorded_replies_takes_its_place_and_is_named(corpus: Corpus, tmp_path: Path) -> None:
    scored = lines(tmp_path / "m_refCDF.jsonl", candidate("m"), add=-1, method="reference_cdf")
    recorded = lines(tmp_path / "recorded_calCDF.jsonl", PREDICTED, method="cdf")
    (row,) = elsewhere.compare_scores(scored, recorded, corpus).to_dict("records")
    assert row["score"] == "reference_cdf / cdf" and row["lose"] == 3 / 12 and row["other"] == "original"
    raw = lines(tmp_path / "recorded.jsonl", PREDICTED)
    with pytest.raises(
        DataError, match=r"recorded\.jsonl: has no scores cdf that could be compared with reference_cdf"
    ):
        elsewhere.compare_scores(scored, raw, corpus)


def test_predictions_of_another_judge_are_refused(corpus: Corpus, tmp_path: Path) -> None:
    scored = lines(tmp_path / "m.jsonl", candidate("m"))
    other = lines(tmp_path / "recorded.jsonl", {**PREDICTED, "model": "Llama"})
    said = r"is by structured memory of Llama, while the candidates were scored by structured memory of Qwen3-8B"
    with pytest.raises(DataError, match=said):
        elsewhere.compare_scores(scored, other, corpus)
