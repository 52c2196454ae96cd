"""Prompts as files that researchers edit: find them, check them, fill them in.

    judge = prompt("judge_personal", language="zh")
    request = judge.render(reply="…", task="…", …)        # an llm Request, ready to send
    prompts()                                             # what there is, with versions and digests

A prompt is a Markdown file, `<language>/<name>.md`: YAML front matter, then one section a message, headed
`# system`, `# user` or `# assistant`, written in Jinja2. Pieces shared between prompts are files whose names
begin with `_`, put in by `{% include "_scale.md" %}`. A user's own folder comes before the bundled one, file
by file, and English for what a language lacks. `prompts/README.md` describes the format for those who write prompts.

Everything is strict: a placeholder that is missing, unknown or not declared is a PromptError that names the
file. All values are data: text is made visible (see perslib.prompts.fencing) before a template gets it, is
never rendered again, and a placeholder that is not declared `trusted` must stand inside a fence.
"""

from perslib.prompts.fencing import fence, visible
from perslib.prompts.library import Prompt, PromptSettings, PromptWarning, phrases, prompt, prompts

__all__ = ["Prompt", "PromptSettings", "PromptWarning", "fence", "phrases", "prompt", "prompts", "visible"]
