"""Prompts as files that researchers edit: functions that find, check and fill them.

    judge = prompt("judge_personal", language="zh")
    request = judge.render(reply="…", task="…", …)        # an llm Request, ready to send
    prompts()                                             # all prompts, with versions and digests

A prompt is a Markdown file, `<language>/<name>.md`. It has YAML front matter and then one section per message,
written in Jinja2 under a heading `# system`, `# user` or `# assistant`. Pieces shared between prompts are files
whose names begin with `_`; `{% include "_scale.md" %}` includes one. For each file, the user's folder comes before
the bundled one. A prompt that a language lacks is taken from English. `prompts/README.md` describes the format for
those who write prompts.

Everything is strict: a placeholder that is missing, unknown or not declared raises a PromptError that names the
file. All values are data: text is made visible (see perslib.prompts.fencing) before a template gets it, and is
never rendered again. A placeholder that is not declared `trusted` must stand inside a fence.
"""

from perslib.prompts.fencing import fence, make_visible
from perslib.prompts.library import Prompt, PromptSettings, PromptWarning, list_languages, prompt, prompts, read_phrases

__all__ = [
    "Prompt", "PromptSettings", "PromptWarning", "fence", "list_languages", "make_visible", "prompt", "prompts", "read_phrases"
]  # fmt: skip
