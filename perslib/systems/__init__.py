"""Systems that stand on the core: each brings its own data, methods, studies and commands, and none needs another.

The core finds them by the entry points `perslib.systems`, as it finds a system of somebody else (docs/extend.md).
"""

from perslib.registry import System

BATCHES = System(
    "batches",
    "questions of pages in batch files: answered within hours, at a part of the price, or offline",
    commands={"batch": ("perslib.systems.batches.commands:batch", "Show the batches of questions and their progress.")},
    options={"report": "perslib.systems.batches.commands:add_batches"},
)
DEUS = System(
    "deus", "patience from success and failure: what a turn costs a user, and what a user has left", pages=("06", "10")
)
MEM_PAL = System(
    "mem_pal",
    "months of memory: H²Memory and the memories beside it, PAL-Sets, PAL-Bench",
    {
        "memory": ("perslib.systems.mem_pal.memory",),
        "kind of saved memory": ("perslib.systems.mem_pal.memory",),
        "kind of corpus": ("perslib.systems.mem_pal.loaders",),
    },
    {
        "synthesize": (
            "perslib.systems.mem_pal.commands:synthesize_pal_set",
            "Write a synthetic PAL-Set with a model: months of device logs and dialogues.",
        )
    },
    pages=("05",),
    extra="mem-pal",
)
READERS = System(
    "readers", "data of others: their data sets as corpora", {"kind of corpus": ("perslib.systems.readers.loaders",)}
)
UXBENCH = System(
    "uxbench",
    "satisfaction from behaviour: signals in logs, judging, replying and recovering, reward models",
    {
        "judge": ("perslib.systems.uxbench.tasks.judging", "perslib.systems.uxbench.reward"),
        "kind of corpus": ("perslib.systems.uxbench.loaders",),
        "source of scores": ("perslib.systems.uxbench.signals",),
        "finding on a judge": ("perslib.systems.uxbench.studies.judge_bias",),
    },
    {
        "build": ("perslib.systems.uxbench.commands:build", "Build a benchmark of good and bad replies from a log."),
        "review": (
            "perslib.systems.uxbench.commands:review",
            "Read completed review SHEETS (CSV) of the construction in FOLDER.",
        ),
    },
    pages=("07", "08"),
    extra="uxbench",
)
