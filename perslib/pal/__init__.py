"""PAL-Bench: what a memory is worth when requirements are restated, solutions proposed and chosen, and talked over.

    who = people(corpus)
    answers, served = run([H2Memory("zh"), *baselines("zh")], who, backbone, PromptSettings("zh"))
    samples = scored(graded(answers, who, judge, PromptSettings("zh")), who)
    results(samples), differences(samples, "H²Memory"), costs(answers, served)

    dialogues = talked(begun(memories, who, backbone), user, assistant, PromptSettings("zh"))
    pairs = outcomes(judged(dialogues, judge, PromptSettings("zh"), method="H²Memory"))
    win_tie_lose(pairs), agreement_with_people(pairs, voted(read_votes("votes.csv")))

`shortened(person, history=3, logs=20)` cuts a user's months; `Faultless(corpus)` is H²Memory from the truth of a synthetic
set, without a model. Mem-PAL, section 5. What fails is recorded where it fails, left out of means, and counted beside them.

PAL-Set synthesis (section 3): users, months of device logs and dialogues, written by any model in small checked steps.

    estimate(backbone("…"), users=100)         calls, tokens and cost of every step, before anything is asked
    made = synthesize(backbone("…"), users=2)
    made.write("folder")                       the files of the release, and what was rejected
    made.corpus()

Profile → timeline → kinds of need → likings → situations → accounts → logs, and frameworks → candidates → verdicts →
dialogues; then what was written of a session is looked through and mended. Spans, clock times, the sessions that get a
dialogue and the turns of a dialogue are drawn with the seed. An answer is checked, asked for again with what is wrong,
then recorded as rejected and left out. A run that was broken off, started again, takes from the answer cache what was
answered.
"""

from perslib.pal.bench.comparisons import judged, outcomes, read_votes, voted
from perslib.pal.bench.faultless import Faultless
from perslib.pal.bench.measures import best_bleu, bleu
from perslib.pal.bench.multi_turn import Dialogue, as_frame, begun, draw_templates, read_templates, talked
from perslib.pal.bench.tables import agreement_with_people, costs, differences, results, scored, win_tie_lose
from perslib.pal.bench.tasks import Served, graded, run
from perslib.pal.bench.topics import Person, Scene, Topic, people, shortened
from perslib.pal.synthesis.estimate import estimate
from perslib.pal.synthesis.pipeline import synthesize

__all__ = [
    "Dialogue", "Faultless", "Person", "Scene", "Served", "Topic", "agreement_with_people", "as_frame",
    "begun", "best_bleu", "bleu", "costs", "differences", "draw_templates", "estimate", "graded", "judged",
    "outcomes", "people", "read_templates", "read_votes", "results", "run", "scored", "shortened", "synthesize",
    "talked", "voted", "win_tie_lose",
]  # fmt: skip
