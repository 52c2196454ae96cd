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
    Reply,
    RewardModel,
    answered,
    by_scenario,
    good_share,
    outcomes,
    scored_replies,
)
from perslib.ux.asking import (
    Form,
)
from perslib.ux.audits import (
    choices_on,
    length_audit,
    padded,
    padding_audit,
    pairs_of,
    position_audit,
)
from perslib.ux.benchmarks import (
    prompts_from,
)
from perslib.ux.bradley_terry import (
    Strengths,
    bradley_terry,
    choice_counts,
)
from perslib.ux.cases import (
    Case,
    as_frame,
    eval_cases,
    from_frame,
    judge_cases,
    recovery_cases,
    released_cases,
)
from perslib.ux.coefficients import (
    cohen,
    counted,
    gwet,
    kendall_w,
    krippendorff,
    raters_agreement,
)
from perslib.ux.confusion import (
    METRICS,
    escapes,
    judged,
)
from perslib.ux.detection import (
    Detection,
    detection,
)
from perslib.ux.equal_quality import (
    at_equal_quality,
    mantel_haenszel,
)
from perslib.ux.generation import (
    SYSTEMS,
    Generation,
)
from perslib.ux.item_model import (
    ItemModel,
    item_model,
    logistic,
)
from perslib.ux.judging import (
    UXJudge,
    judged_by,
    shots,
    strategy_gains,
)
from perslib.ux.labels import (
    BAD,
    GOOD,
    NEUTRAL,
)
from perslib.ux.own_family import (
    double_centred,
    own_family_by_case,
    own_family_gaps,
    permuted,
    shares_of,
)
from perslib.ux.pair_judge import (
    PairJudge,
)
from perslib.ux.paired import (
    mcnemar,
    paired_differences,
    rank_sets,
    separability,
)
from perslib.ux.pairwise import (
    exact_test,
    order_effects,
    preferences,
    wins,
)
from perslib.ux.parsing import (
    SCHEMES,
    parse_verdict,
)
from perslib.ux.power import (
    cases_needed,
)
from perslib.ux.published import (
    CASES,
    REWARD_MODEL,
    TABLES,
    families,
    published,
)
from perslib.ux.recovery import (
    LAYOUTS,
    VARIANTS,
    Recovery,
)
from perslib.ux.reward import (
    Reward,
)
from perslib.ux.reward_adapters import (
    FromJudge,
    RewardJudge,
)
from perslib.ux.reward_checks import (
    discrimination,
    out_of_fold,
    reward_numbers,
    selective_risk,
    swapped,
)
from perslib.ux.reward_embedded import (
    Embedded,
)
from perslib.ux.reward_lessons import (
    Lesson,
    by_exposure,
    by_source,
    lessons_of,
)
from perslib.ux.reward_lora import (
    Lora,
    Tuning,
)
from perslib.ux.reward_noise import (
    label_audit,
    without_suspects,
)
from perslib.ux.reward_words import (
    Words,
)
from perslib.ux.scored import (
    Calibrated,
    at_learned_threshold,
    best_threshold,
    probability_metrics,
    reliability,
    verdict_of,
)
from perslib.ux.shares import (
    rank_sets_of_shares,
    unpaired,
)
from perslib.ux.strategies import (
    STRATEGIES,
    Labelled,
    StrategyLabeller,
    label_by_rules,
    labeller_agreement,
    opening,
    strategies_of,
    strategy_shares,
    strategy_success,
)
from perslib.ux.topics import (
    INTENTS,
    SCENARIOS,
    Topic,
    TopicLabeller,
    label_topic_by_rules,
    topics_of,
)
from perslib.ux.wall import (
    BASELINES,
    against_wall,
    wall,
)

__all__ = [
    "BAD",
    "BASELINES",
    "CASES",
    "GOOD",
    "INTENTS",
    "LAYOUTS",
    "METRICS",
    "NEUTRAL",
    "REWARD_MODEL",
    "SCENARIOS",
    "SCHEMES",
    "STRATEGIES",
    "SYSTEMS",
    "TABLES",
    "VARIANTS",
    "Calibrated",
    "Case",
    "Detection",
    "Embedded",
    "Form",
    "FromJudge",
    "Generation",
    "ItemModel",
    "Labelled",
    "Lesson",
    "Lora",
    "PairJudge",
    "Recovery",
    "Reply",
    "Reward",
    "RewardJudge",
    "RewardModel",
    "StrategyLabeller",
    "Strengths",
    "Topic",
    "TopicLabeller",
    "Tuning",
    "UXJudge",
    "Words",
    "against_wall",
    "answered",
    "as_frame",
    "at_equal_quality",
    "at_learned_threshold",
    "best_threshold",
    "bradley_terry",
    "by_exposure",
    "by_scenario",
    "by_source",
    "cases_needed",
    "choice_counts",
    "choices_on",
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
    "item_model",
    "judge_cases",
    "judged",
    "judged_by",
    "kendall_w",
    "krippendorff",
    "label_audit",
    "label_by_rules",
    "label_topic_by_rules",
    "labeller_agreement",
    "length_audit",
    "lessons_of",
    "logistic",
    "mantel_haenszel",
    "mcnemar",
    "opening",
    "order_effects",
    "out_of_fold",
    "outcomes",
    "own_family_by_case",
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
    "prompts_from",
    "published",
    "rank_sets",
    "rank_sets_of_shares",
    "raters_agreement",
    "recovery_cases",
    "released_cases",
    "reliability",
    "reward_numbers",
    "scored_replies",
    "selective_risk",
    "separability",
    "shares_of",
    "shots",
    "strategies_of",
    "strategy_gains",
    "strategy_shares",
    "strategy_success",
    "swapped",
    "topics_of",
    "unpaired",
    "verdict_of",
    "wall",
    "wins",
    "without_suspects",
]
