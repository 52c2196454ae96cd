"""Judging user experience from what users do, and how judges err at it (UXBench).

verdicts = judged_by(UXJudge(Form("zh")), cases, backbone)    # good or bad; what could not be read is counted
judged(verdicts)                                              # accuracy, d′ and criterion, with intervals
topics_of(cases)                                              # scenario, intent and domain of each, by rules or a model
own_family_gaps(shares_of(judgments), families)               # does a judge prefer its own family?
position_audit(judge, pairs_of(replies, 40), corpus)          # what does the order do, for any judge
Reward().fit(lessons_of(corpus))                              # how likely is a reply to be liked: learned, calibrated
published("table3")                                           # the paper's numbers, for comparison
"""

from perslib.ux.answers import (
    SYSTEMS,
    VARIANTS,
    Generation,
    Recovery,
    Reply,
    RewardModel,
    answered,
    good_share,
    scored_replies,
)
from perslib.ux.asking import Form, parse_verdict
from perslib.ux.audits import length_audit, padded, padding_audit, pairs_of, position_audit
from perslib.ux.cases import (
    BAD,
    GOOD,
    NEUTRAL,
    Case,
    Lesson,
    eval_cases,
    from_frame,
    judge_cases,
    lessons_of,
    recovery_cases,
    released_cases,
)
from perslib.ux.comparing import (
    cases_needed,
    cohen,
    counted,
    gwet,
    krippendorff,
    mcnemar,
    paired_differences,
    rank_sets_of_shares,
    raters_agreement,
    unpaired,
)
from perslib.ux.confusion import detection, escapes, judged
from perslib.ux.judging import PairJudge, UXJudge, judged_by, shots, strategy_gains
from perslib.ux.own_family import double_centred, own_family_gaps, permuted, shares_of
from perslib.ux.pairwise import bradley_terry, exact_test, order_effects, preferences
from perslib.ux.published import CASES, REWARD_MODEL, families, published
from perslib.ux.reward import Reward
from perslib.ux.reward_checks import (
    RewardWarning,
    discrimination,
    out_of_fold,
    reward_numbers,
    selective_risk,
    swapped,
)
from perslib.ux.reward_embedded import Embedded
from perslib.ux.reward_lora import Lora, Tuning
from perslib.ux.reward_words import Words
from perslib.ux.scored import at_learned_threshold, best_threshold, probability_metrics, reliability
from perslib.ux.strategies import (
    STRATEGIES,
    StrategyLabeller,
    label_by_rules,
    labeller_agreement,
    opening,
    strategies_of,
    strategy_shares,
)
from perslib.ux.topics import INTENTS, SCENARIOS, TopicLabeller, label_topic_by_rules, topics_of
from perslib.ux.wall import against_wall, wall

__all__ = [
    "BAD",
    "CASES",
    "GOOD",
    "INTENTS",
    "NEUTRAL",
    "REWARD_MODEL",
    "SCENARIOS",
    "STRATEGIES",
    "SYSTEMS",
    "VARIANTS",
    "Case",
    "Embedded",
    "Form",
    "Generation",
    "Lesson",
    "Lora",
    "PairJudge",
    "Recovery",
    "Reply",
    "Reward",
    "RewardModel",
    "RewardWarning",
    "StrategyLabeller",
    "TopicLabeller",
    "Tuning",
    "UXJudge",
    "Words",
    "against_wall",
    "answered",
    "at_learned_threshold",
    "best_threshold",
    "bradley_terry",
    "cases_needed",
    "cohen",
    "counted",
    "detection",
    "discrimination",
    "double_centred",
    "escapes",
    "eval_cases",
    "exact_test",
    "families",
    "from_frame",
    "good_share",
    "gwet",
    "judge_cases",
    "judged",
    "judged_by",
    "krippendorff",
    "label_by_rules",
    "label_topic_by_rules",
    "labeller_agreement",
    "length_audit",
    "lessons_of",
    "mcnemar",
    "opening",
    "order_effects",
    "out_of_fold",
    "own_family_gaps",
    "padded",
    "padding_audit",
    "paired_differences",
    "pairs_of",
    "parse_verdict",
    "permuted",
    "position_audit",
    "preferences",
    "probability_metrics",
    "published",
    "rank_sets_of_shares",
    "raters_agreement",
    "recovery_cases",
    "released_cases",
    "reliability",
    "reward_numbers",
    "scored_replies",
    "selective_risk",
    "shares_of",
    "shots",
    "strategies_of",
    "strategy_gains",
    "strategy_shares",
    "swapped",
    "topics_of",
    "unpaired",
    "wall",
]
