"""Text of the synthetic world, by language and scenario; no logic lives here.

Every scenario module has the same names in both languages: its things (destinations, gifts, dishes, skills),
`TASKS`, `OPENINGS`, `LIMITS` (constraints: as said in the task, as asked for, honoured, broken) and `FOCUS`
(what a reply can be about: how users ask for it, options, concrete facts, steps, usable and vague advice).
Slots in braces are filled by the scenario's module in `perslib.corpus.synthetic.scenarios`.
"""
