"""PAL-Set synthesis (Mem-PAL, Section 3): users, months of device logs and dialogues, written by any model in small checked steps.

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

from perslib.palsynth.rehearsal import estimate
from perslib.palsynth.synthesis import synthesize

__all__ = ["estimate", "synthesize"]
