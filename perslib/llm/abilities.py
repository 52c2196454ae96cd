"""What one model at one endpoint can do: what its entry says, what a probe saw, and what was found since.

Flags in `backbones.toml` are what somebody believed; a probe (`perslib check`) is what the endpoint did, and outweighs
them. What the endpoint refuses while it is asked is left out from then on, and remembered in the working folder.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from perslib.llm.entries import BackboneEntry, DecisionForm
from perslib.llm.request import json_or
from perslib.llm.structured.parsing import RUNGS, ReplyFormat
from perslib.paths import state_folder, write_whole


@dataclass(frozen=True)
class Probe:
    """What one model at one endpoint was seen to do."""

    backbone: str
    endpoint: str
    model: str
    schema: bool
    """Replies follow a JSON schema."""
    json: bool
    """Replies are JSON when asked to be."""
    logprobs: int
    """Alternatives a token whose log probabilities come back; 0 without."""
    seed: bool | None
    """Equal seeds give equal replies and others do not; None when it could not be told."""
    usage: bool
    """Token counts are reported."""
    cached: bool
    """Tokens read from the provider's prefix cache are reported."""
    reasons: bool
    """Replies are thought about first."""
    seconds: float
    tokens_out: int
    """What a short reply took, thoughts included."""
    context: int | None
    """Tokens of the context window, where the endpoint tells."""
    at: str
    """When it was asked, UTC."""
    pace: Sequence[float] | None = None
    """Seconds that a token of a prompt takes, and one of a reply; None where no tokens are reported."""
    decisions: DecisionForm = ""
    """The form in which it takes typed questions; empty where it takes none."""
    no_decisions: str = ""
    """What it says where it takes none."""

    def describe(self) -> str:
        """Describe the findings, one a line."""
        findings = {
            "backbone": self.backbone,
            "endpoint": self.endpoint,
            "model": self.model,
            "JSON schema": "enforced" if self.schema else "no",
            "JSON mode": "enforced" if self.json else "no",
            "log probabilities": f"{self.logprobs} alternatives a token" if self.logprobs else "not supported",
            "seed": {True: "repeats a reply", False: "has no effect", None: "could not be told"}[self.seed],
            "token usage": "reported" if self.usage else "no",
            "prefix-cache usage": "reported" if self.cached else "no",
            "context window": f"{self.context:,} tokens" if self.context else "not told",
            "reasoning": "before each reply" if self.reasons else "no",
            "typed questions": f"answered at /{self.decisions}" if self.decisions else f"no ({self.no_decisions})",
            "goes without": ", ".join(sorted(read_refused(self.endpoint, self.model))) or "nothing",
        }
        return "\n".join(f"{what:<20}{finding}" for what, finding in findings.items())

    def verdict(self) -> str:
        """Describe what judging with it will be like."""
        if self.decisions:
            return "Judging with it: typed questions, all on a reply in one request, with probabilities (judges decide, decide + memory)."
        has_distribution = self.logprobs and not self.reasons
        how = "one token a score, with its distribution" if has_distribution else "scores without a distribution"
        if self.reasons:
            how = f"thoughts before each score ({self.tokens_out:,} tokens for a greeting), {how}"
        form = "JSON mode, checked" if self.json else "JSON asked for in words, checked"
        form = "JSON by schema" if self.schema else form
        return f"Judging with it: {how}; written judgments as {form}; {self.seconds:.1f} s a short reply."


@dataclass(eq=False)
class Abilities:
    """What one model can do; all backbones of a process with equal entries share it, and learn together."""

    entry: BackboneEntry
    is_forced: bool = False
    """Whether the form of structured replies was chosen by hand, which outweighs the probe."""
    probe: Probe | None = None
    refused: set[str] = field(default_factory=set)
    """What the endpoint refused to take: forms of replies, and fields of a request by name."""
    thinks: bool = False
    """Whether a reply was seen to be thought about first."""

    @property
    def reasons(self) -> bool:
        """Whether the model thinks before it answers: as the entry says, else as it was seen to do."""
        seen = self.thinks or (self.probe is not None and self.probe.reasons)
        return seen if self.entry.reasons is None else self.entry.reasons

    @property
    def context(self) -> int | None:
        """Tokens of the model's context window, as the entry says, else as the endpoint did; None where nobody knows."""
        return self.entry.context or (self.probe.context if self.probe else None)

    @property
    def decisions(self) -> DecisionForm:
        """The form in which the endpoint takes typed questions, as its entry says, else as the probe found; empty: none."""
        usual: DecisionForm = "decisions" if self.entry.kind == "decisions" else ""
        return self.entry.decisions or (self.probe.decisions if self.probe else "") or usual

    @property
    def gives_logprobs(self) -> bool | None:
        """Whether the endpoint was seen, or is said, to give log probabilities; None where nobody knows."""
        return self.entry.logprobs if self.probe is None else self.probe.logprobs > 0

    def rung(self, schema: Mapping[str, Any]) -> ReplyFormat:
        """Choose the form in which a reply is asked for first: as ordered, else as probed, else as the entry says."""
        flag = self.entry.structured
        first: ReplyFormat = "schema" if flag == "auto" else flag
        if self.probe is not None and not self.is_forced:
            first = "schema" if self.probe.schema else "json" if self.probe.json else "text"
        if not self.refused:  # as a rule; a schema as text takes time
            return first
        return next((r for r in RUNGS[RUNGS.index(first) :] if _form(r, schema) not in self.refused), "text")

    def refuse_form(self, rung: ReplyFormat, schema: Mapping[str, Any]) -> None:
        """Ask no more for replies in this form; JSON schemas are refused singly."""
        self.refused.add(_form(rung, schema))

    def refuse_field(self, name: str) -> None:
        """Send this field of requests no more, here and in later sessions."""
        if name not in self.refused:
            self.refused.add(name)
            _write_refused(self.entry, {*read_refused(self.entry.address, self.entry.display_name), name})
            words = "%s does not take %r: requests go without it."
            logging.getLogger(__name__).warning(words, self.entry.name, name)

    def forget_refusals(self) -> None:
        """Ask for everything again, as before a probe."""
        self.refused.clear()
        _write_refused(self.entry, ())


_known: dict[str, Abilities] = {}


def know_abilities(entry: BackboneEntry, *, is_forced: bool = False) -> Abilities:
    """Return what is known of a model: by this process, and by the probe that was saved last."""
    key = f"{entry!r} {is_forced}"
    if key not in _known:
        _known[key] = Abilities(entry, is_forced, refused=read_refused(entry.address, entry.display_name))
    _known[key].probe = read_probe(entry)
    return _known[key]


def read_probe(entry: BackboneEntry) -> Probe | None:
    """Read the saved probe of a model at an endpoint."""
    record = _read().get(f"{entry.address} {entry.display_name}")
    try:
        return Probe(**record) if record else None
    except TypeError:  # written by another version
        return None


def save_probe(probe: Probe) -> None:
    """Remember the probe in the working folder."""
    _write({f"{probe.endpoint} {probe.model}": asdict(probe)})


def _form(rung: ReplyFormat, schema: Mapping[str, Any]) -> str:
    """Return the name of a form of replies."""
    return rung if rung != "schema" else f"schema {json.dumps(schema)}"


def read_refused(endpoint: str, model: str) -> set[str]:
    """Read the fields of requests that a model at an endpoint was found not to take."""
    refused = _read().get(f"{endpoint} {model} without")
    return set(refused) if isinstance(refused, list) else set()


def _write_refused(entry: BackboneEntry, names: Sequence[str] | set[str]) -> None:
    _write({f"{entry.address} {entry.display_name} without": sorted(names)})


def _read() -> dict[str, Any]:
    try:
        records = json_or((state_folder() / "probes.json").read_text(encoding="utf-8"), {})
    except (OSError, UnicodeDecodeError):
        return {}
    return records if isinstance(records, dict) else {}


def _write(news: Mapping[str, Any]) -> None:
    write_whole(state_folder() / "probes.json", json.dumps({**_read(), **news}, indent=1, ensure_ascii=False))
