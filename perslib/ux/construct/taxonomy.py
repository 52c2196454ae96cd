"""The names that cases are labelled with: dimensions of failure and success, scenarios, axes, objections.

The ids of dimensions and scenarios are the paper's (UXBench, Table 7 and the overview); scenarios are listed in
`perslib.ux.topics`. What each means is said to the models in `prompts/*/_uxc_….md`, in words of our own.
"""

from __future__ import annotations

from perslib.ux.topics import SCENARIOS as SCENARIOS

OTHER = "other"
FAILURES = (
    "verbosity",
    "task_incompleteness",
    "intent_misunderstanding",
    "factual_error",
    "information_reliability",
    "instruction_format_failure",
    "insufficiently_informative",
    "emotional_tone_mismatch",
    "safety_refusal",
    "system_technical",
)
SUCCESSES = (
    "accurate_answering",
    "knowledge_depth",
    "comprehensive_detail",
    "problem_solving",
    "practical_guidance",
    "creative_generation",
    "task_completion",
    "empathetic_support",
)
DIMENSIONS = {"bad": FAILURES, "good": SUCCESSES}
#: What the judge grades from 1 to 5 (UXBench, section 3); of good cases, severity is how much the reply achieved.
AXES = ("completeness", "credibility", "representativeness", "severity", "fidelity")
#: What a checker can object to; with any of these a case is not taken.
OBJECTIONS = (
    "label_wrong",
    "signal_noise",
    "dimension_wrong",
    "query_unclear",
    "product_behaviour",
    "unsafe",
    "private",
)
