"""The ledger: worked sums, missing prices, resumed totals."""

from __future__ import annotations

import json
import threading

import pandas as pd
import pytest

from perslib.llm.ledger import Ledger, Spending, describe_spending
from perslib.llm.request import Answer


def paid(cost: float | None = 0.002, **fields) -> Answer:
    return Answer(text="ok", tokens_in=100, tokens_cached=40, tokens_out=10, seconds=0.5, cost=cost, **fields)


def test_calls_hits_and_failures_are_told_apart():
    ledger = Ledger()
    for answer in (
        paid(),
        paid(retries=2),
        paid(cached=True),  # paid for in an earlier run
        paid(mode="unscored", error="no object in the reply"),
        paid(error="content filter"),
        Answer(error="gave up", retries=3),  # never answered: no tokens, no price to miss
    ):
        ledger.record("judge", answer)
    row = ledger.table().set_index("stage").loc["judge"]
    assert (row.calls, row.hits, row.unreadable, row.errors, row.retries, row.unpriced) == (5, 1, 1, 2, 5, 0)
    assert (row.tokens_in, row.tokens_cached, row.tokens_out) == (400, 160, 40)
    assert row.seconds == pytest.approx(4 * 0.5)
    assert row.cost == pytest.approx(4 * 0.002)


def test_stages_in_the_order_they_began_and_a_total():
    ledger = Ledger()
    ledger.record("memory", paid())
    ledger.record("judge", paid())
    ledger.record("memory", paid())
    table = ledger.table()
    assert list(table.stage) == ["memory", "judge", "total"]
    assert list(table.calls) == [2, 1, 3]
    assert ledger.total.cost == pytest.approx(0.006)


def test_an_unknown_price_is_missing_and_not_zero():
    ledger = Ledger()
    ledger.record("local", paid(cost=None))
    ledger.record("hosted", paid())
    table = ledger.table().set_index("stage")
    assert table.cost.isna().to_dict() == {"local": True, "hosted": False, "total": False}
    assert ledger.stage("local").cost is None
    assert ledger.total.cost == pytest.approx(0.002), "the known part"
    assert ledger.total.unpriced == 1, "and how much is not in it"
    ledger.record("local", paid())
    assert ledger.stage("local").cost == pytest.approx(0.002) and ledger.stage("local").unpriced == 1


def test_a_run_from_the_cache_alone_costs_nothing_even_unpriced():
    ledger = Ledger()
    ledger.record("judge", paid(cost=None, cached=True))
    assert ledger.total == Spending(hits=1, cost=0.0)


def test_totals_are_carried_over_to_a_resumed_run():
    earlier, later = Ledger(), Ledger()
    earlier.record("judge", paid(cost=None))
    earlier.record("memory", paid())
    later.record("judge", paid(cached=True))
    later.record("judge", paid())
    both = Ledger.from_dict(json.loads(json.dumps(earlier.as_dict()))) + later
    assert both.stage("judge") == Spending(
        calls=2, hits=1, unpriced=1, tokens_in=200, tokens_cached=80, tokens_out=20, seconds=1.0, cost=0.002
    )
    assert list(both.stages) == ["judge", "memory"]
    pd.testing.assert_frame_equal(Ledger.from_dict(both.as_dict()).table(), both.table())


def test_an_empty_ledger_has_a_table_of_zeros():
    ledger = Ledger()
    table = ledger.table()
    assert list(table.stage) == ["total"]
    assert table.drop(columns="stage").sum().sum() == 0
    assert describe_spending(ledger.total) == "0 calls, 0 tokens, $0.00"


def test_threads_lose_no_count():
    ledger = Ledger()

    def record() -> None:
        for _ in range(500):
            ledger.record("judge", paid())

    threads = [threading.Thread(target=record) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.total.calls == 4000
    assert ledger.total.tokens_in == 400_000


@pytest.mark.parametrize(
    ("spending", "line"),
    [
        (Spending(calls=1200, tokens_in=1_200_000, cost=3.1), "1,200 calls, 1.2M tokens, $3.10"),
        (
            Spending(calls=9, hits=3, unreadable=2, errors=1, retries=4, tokens_out=51_234, cost=0.03124),
            "9 calls, 3 hits, 2 not as asked for, 1 errors, 4 retries, 51.2k tokens, $0.031",
        ),
        (Spending(calls=2, unpriced=2, cost=None), "2 calls, 0 tokens, unpriced"),
        (Spending(calls=3, unpriced=1, cost=1.5), "3 calls, 0 tokens, $1.50 and 1 unpriced calls"),
    ],
)
def test_a_line_about_it(spending, line):
    assert describe_spending(spending) == line
