"""Judging user experience from what users do, and how judges err at it (UXBench).

verdicts = judge_each_case(UXJudge(PromptSettings("zh")), cases, backbone)    # good or bad; what could not be read is counted
measure_verdicts(verdicts)                                    # (.statistics) accuracy, d′ and criterion, with intervals
topics_of(cases)                                              # scenario, intent and domain of each, by rules or a model
position_audit(judge, pairs_of(replies, 40), corpus)          # what does the order do, for any judge
Reward().learn(lessons_of(corpus))                            # how likely is a reply to be liked: learned, calibrated
read_ux_table("table3")                                           # the paper's numbers, for comparison
"""

from perslib.corpus.schema import BAD, GOOD, NEUTRAL
from perslib.judge.asking.labels import parse_verdict
from perslib.systems.uxbench.published import CASES, REWARD_MODEL, families, read_ux_table
from perslib.systems.uxbench.reward import Reward, audit_swapped_replies
from perslib.systems.uxbench.tasks.answers import (
    SYSTEMS,
    VARIANTS,
    Generation,
    Recovery,
    TaskReply,
    good_share,
    judge_task_replies,
    reply_to_cases,
)
from perslib.systems.uxbench.tasks.audits import pad_reply, padding_audit, pairs_of, position_audit
from perslib.systems.uxbench.tasks.baselines import (
    compare_with_baselines,
    compare_with_best_baseline,
    judge_with_baselines,
    measure_with_baselines,
    out_of_fold,
)
from perslib.systems.uxbench.tasks.cases import (
    Case,
    WeightedCase,
    eval_cases,
    judge_cases,
    lessons_of,
    make_cases,
    name_turns,
    recovery_cases,
    released_cases,
)
from perslib.systems.uxbench.tasks.damages import DAMAGES, HARMLESS, damage_audit
from perslib.systems.uxbench.tasks.judging import (
    PairJudge,
    UXJudge,
    judge_each_case,
    sample_shots,
    strategy_gains,
    verdicts_of_scores,
)
from perslib.systems.uxbench.tasks.labels import (
    INTENTS,
    SCENARIOS,
    STRATEGIES,
    label_by_rules,
    label_topic_by_rules,
    labeller_agreement,
    select_opening,
    strategies_of,
    strategy_shares,
    topics_of,
)
from perslib.systems.uxbench.tasks.mentions import mention_audit

__all__ = [
    "BAD",
    "CASES",
    "DAMAGES",
    "GOOD",
    "HARMLESS",
    "INTENTS",
    "NEUTRAL",
    "REWARD_MODEL",
    "SCENARIOS",
    "STRATEGIES",
    "SYSTEMS",
    "VARIANTS",
    "Case",
    "Generation",
    "PairJudge",
    "Recovery",
    "Reward",
    "TaskReply",
    "UXJudge",
    "WeightedCase",
    "audit_swapped_replies",
    "compare_with_baselines",
    "compare_with_best_baseline",
    "damage_audit",
    "eval_cases",
    "families",
    "good_share",
    "judge_cases",
    "judge_each_case",
    "judge_task_replies",
    "judge_with_baselines",
    "label_by_rules",
    "label_topic_by_rules",
    "labeller_agreement",
    "lessons_of",
    "make_cases",
    "measure_with_baselines",
    "mention_audit",
    "name_turns",
    "out_of_fold",
    "pad_reply",
    "padding_audit",
    "pairs_of",
    "parse_verdict",
    "position_audit",
    "read_ux_table",
    "recovery_cases",
    "released_cases",
    "reply_to_cases",
    "sample_shots",
    "select_opening",
    "strategies_of",
    "strategy_gains",
    "strategy_shares",
    "topics_of",
    "verdicts_of_scores",
]  # fmt: skip
