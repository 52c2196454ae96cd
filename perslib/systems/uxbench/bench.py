"""Judging user experience from what users do, and how judges err at it (UXBench).

verdicts = judged_by(UXJudge(PromptSettings("zh")), cases, backbone)    # good or bad; what could not be read is counted
perslib.stats.measure_verdicts(verdicts)                      # accuracy, d′ and criterion, with intervals
topics_of(cases)                                              # scenario, intent and domain of each, by rules or a model
position_audit(judge, pairs_of(replies, 40), corpus)          # what does the order do, for any judge
Reward().learn(lessons_of(corpus))                            # how likely is a reply to be liked: learned, calibrated
published("table3")                                           # the paper's numbers, for comparison
"""

from perslib.corpus.schema import BAD, GOOD, NEUTRAL
from perslib.judge.asking.labels import parse_verdict
from perslib.systems.uxbench.published import CASES, REWARD_MODEL, families, published
from perslib.systems.uxbench.reward.linear import Embedded, Words
from perslib.systems.uxbench.reward.lora import Lora, Tuning
from perslib.systems.uxbench.reward.model import Reward, swapped
from perslib.systems.uxbench.tasks.answers import (
    SYSTEMS,
    VARIANTS,
    Generation,
    Recovery,
    Reply,
    answered,
    good_share,
    scored_replies,
)
from perslib.systems.uxbench.tasks.audits import padded, padding_audit, pairs_of, position_audit
from perslib.systems.uxbench.tasks.baselines import (
    against_wall,
    compare_with_best_baseline,
    measure_beside_wall,
    out_of_fold,
    wall,
)
from perslib.systems.uxbench.tasks.cases import (
    Case,
    Lesson,
    eval_cases,
    from_frame,
    judge_cases,
    lessons_of,
    name_turns,
    recovery_cases,
    released_cases,
)
from perslib.systems.uxbench.tasks.damages import DAMAGES, HARMLESS, damage_audit
from perslib.systems.uxbench.tasks.judging import (
    PairJudge,
    UXJudge,
    judged_by,
    shots,
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
    opening,
    strategies_of,
    strategy_shares,
    topics_of,
)
from perslib.systems.uxbench.tasks.mentions import mention_audit

__all__ = [
    "BAD", "CASES", "DAMAGES", "GOOD", "HARMLESS", "INTENTS", "NEUTRAL", "REWARD_MODEL", "SCENARIOS", "STRATEGIES", "SYSTEMS",
    "VARIANTS", "Case", "Embedded", "Generation", "Lesson", "Lora", "PairJudge", "Recovery", "Reply",
    "Reward", "Tuning", "UXJudge", "Words", "against_wall", "answered", "compare_with_best_baseline", "damage_audit",
    "eval_cases", "families", "from_frame", "good_share", "judge_cases", "judged_by", "label_by_rules",
    "label_topic_by_rules", "labeller_agreement", "lessons_of", "measure_beside_wall", "mention_audit", "name_turns",
    "opening", "out_of_fold", "padded", "padding_audit", "pairs_of", "parse_verdict", "position_audit",
    "published", "recovery_cases", "released_cases", "scored_replies", "shots", "strategies_of",
    "strategy_gains", "strategy_shares", "swapped", "topics_of", "verdicts_of_scores", "wall",
]  # fmt: skip
