"""PAL-Bench: what a memory is worth when requirements are restated, solutions proposed and chosen, and talked over.

    who = list_bench_users(corpus)
    answers, served = run([H2Memory("zh"), *baselines("zh")], who, backbone, PromptSettings("zh"))
    samples = score_samples(grade_answers(answers, who, judge, PromptSettings("zh")), who)
    average_samples(samples), compare_methods(samples, "H²Memory"), costs(answers, served)

    dialogues = run_dialogues(start_dialogues(memories, who, backbone), user, assistant, PromptSettings("zh"))
    pairs = outcomes(compare_dialogues(dialogues, judge, PromptSettings("zh"), method="H²Memory"))
    win_tie_lose(pairs), agreement_with_people(pairs, find_majority_votes(read_votes("votes.csv")))

`shorten_history(person, history=3, logs=20)` cuts a user's months; `TrueMemory(corpus)` is H²Memory from the truth of a synthetic
set, without a model. Mem-PAL, section 5. What fails is recorded where it fails, left out of means, and counted beside them.
"""

from perslib.systems.mem_pal.bench.comparisons import compare_dialogues, find_majority_votes, outcomes, read_votes
from perslib.systems.mem_pal.bench.measures import best_bleu, bleu
from perslib.systems.mem_pal.bench.multi_turn import (
    BenchDialogue,
    as_frame,
    draw_templates,
    read_templates,
    run_dialogues,
    start_dialogues,
)
from perslib.systems.mem_pal.bench.tables import (
    agreement_with_people,
    average_samples,
    compare_methods,
    costs,
    score_samples,
    win_tie_lose,
)
from perslib.systems.mem_pal.bench.tasks import UserAnswers, grade_answers, run
from perslib.systems.mem_pal.bench.topics import BenchTopic, BenchUser, Scene, list_bench_users, shorten_history
from perslib.systems.mem_pal.bench.true_memory import TrueMemory

__all__ = [
    "BenchDialogue",
    "BenchTopic",
    "BenchUser",
    "Scene",
    "TrueMemory",
    "UserAnswers",
    "agreement_with_people",
    "as_frame",
    "average_samples",
    "best_bleu",
    "bleu",
    "compare_dialogues",
    "compare_methods",
    "costs",
    "draw_templates",
    "find_majority_votes",
    "grade_answers",
    "list_bench_users",
    "outcomes",
    "read_templates",
    "read_votes",
    "run",
    "run_dialogues",
    "score_samples",
    "shorten_history",
    "start_dialogues",
    "win_tie_lose",
]
