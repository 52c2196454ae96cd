"""PAL-Set synthesis (section 3): users, months of device logs and dialogues, written by any model in small checked steps.

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

from perslib.systems.mem_pal.synthesis.estimate import estimate_synthesis
from perslib.systems.mem_pal.synthesis.pipeline import synthesize

__all__ = ["estimate_synthesis", "synthesize"]
