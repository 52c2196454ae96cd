"""The engine of a local model as a program, run by `local.py`; it imports nothing of perslib, so it starts quickly.

It reads requests from standard input and writes answers to standard output, a line of JSON each, in the form of
OpenAI's chat completions. It ends when standard input closes, which happens when the process that started it
ends, in whatever way.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from queue import SimpleQueue
from typing import Any

import numpy as np
import openvino as ov
import openvino_genai as genai

#: Digits of a log probability: the last ones change when the beginning of a prompt comes from the cache.
DIGITS = 4
#: Where a value begins in a reply that is JSON; a score may stand there, and its alternatives are wanted.
VALUE = re.compile(r"\A\s*\Z|:\s*\"?\Z")
#: Fields of a request that are handled by themselves; any other must be one of the engine's own.
HANDLED = {
    *("model", "messages", "max_tokens", "seed", "stop", "temperature", "response_format"),
    *("logprobs", "top_logprobs", "chat_template_kwargs"),
}

#: What a grammar of JSON is made of. Characters have no escapes: counting them would take ten times as long.
CHARACTER = r'[^"\\\n\r\t]'
#: Long texts are counted in pieces of so many characters, which share their states: characters alone take twice as long.
PIECE = 20
RULES = f"piece ::= {CHARACTER}{{{PIECE}}}\nrest ::= {CHARACTER}{{0,{PIECE}}}"
SIMPLE = {
    "integer": '"-"? [0-9]{1,9}',
    "number": '"-"? [0-9]{1,9} ("." [0-9]{1,9})?',
    "boolean": '("true" | "false")',
    "null": '"null"',
}


class Unsupported(ValueError):
    """What a request wants and cannot have."""


class LoadedModel:
    """A loaded model."""

    def __init__(self, path: str, name: str, context: int, threads: int):
        exact = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}
        self.pipe = genai.LLMPipeline(path, "CPU", INFERENCE_NUM_THREADS=threads, **exact)
        self.tokenizer = self.pipe.get_tokenizer()
        self.name, self.context = name, context

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer a request for a chat completion."""
        more = body.get("chat_template_kwargs") or {}
        text = self.tokenizer.apply_chat_template(body["messages"], True, extra_context=more)
        most = {"add_special_tokens": False, "max_length": self.context + 1}
        prompt = self.tokenizer.encode(text, **most).input_ids.data
        room = self.context - prompt.shape[1]
        if room < 1:
            raise Unsupported(f"the request exceeds the context size ({self.context} tokens)")
        result = self.pipe.generate(ov.Tensor(prompt), make_generation_config(body, room))
        token, finish = result.tokens[0], result.finish_reasons[0]
        top = body.get("top_logprobs")
        return {
            "model": self.name,
            "choices": [
                {
                    "message": {"content": self.tokenizer.decode(token)},
                    "finish_reason": "length" if finish == genai.GenerationFinishReason.LENGTH else "stop",
                    "logprobs": {"content": self.logprobs(prompt, token, top)} if top else None,
                }
            ],
            "usage": {"prompt_tokens": prompt.shape[1], "completion_tokens": len(token)},
        }

    def logprobs(self, prompt: np.ndarray, tokens: list[int], top: int) -> list[dict[str, Any]]:
        """List the tokens of a reply, with alternatives and their log probabilities where a value begins.

        A beam search over one token gives them; of other tokens they are not asked for, and are left out.
        """
        logprobs, before = [], ""
        for place, token in enumerate(tokens):
            text = self.decode_token(token)
            alternatives = self.alternatives(prompt, tokens[:place], top) if VALUE.search(before) else {}
            others = [{"token": self.decode_token(t), "logprob": p} for t, p in alternatives.items()]
            least = min(alternatives.values(), default=0.0)
            logprobs.append({"token": text, "logprob": alternatives.get(token, least), "top_logprobs": others})
            before += text
        return logprobs

    def alternatives(self, prompt: np.ndarray, before: list[int], top: int) -> dict[int, float]:
        """Return the likeliest next tokens with their log probabilities."""
        config = genai.GenerationConfig()
        config.max_new_tokens, config.num_beams, config.num_return_sequences = 1, top, top
        config.diversity_penalty = 0.0
        result = self.pipe.generate(ov.Tensor(np.append(prompt, [before], axis=1) if before else prompt), config)
        return {tokens[0]: round(score, DIGITS) for tokens, score in zip(result.tokens, result.scores, strict=True)}

    def decode_token(self, token: int) -> str:
        """Return a token as text."""
        return str(self.tokenizer.decode([token], skip_special_tokens=False))


def make_generation_config(body: dict[str, Any], room: int) -> Any:
    """Return the engine's settings for a request."""
    config = genai.GenerationConfig()
    config.max_new_tokens = min(body.get("max_tokens") or room, room)
    config.stop_strings = set(body.get("stop") or ())
    config.rng_seed = (body.get("seed") or 0) % 2**31
    temperature = body.get("temperature", 1.0)
    config.do_sample = temperature > 0
    if config.do_sample:
        config.temperature = temperature
    form = body.get("response_format") or {"type": "text"}
    if form["type"] != "text":
        schema = form["json_schema"]["schema"] if form["type"] == "json_schema" else {"type": "object"}
        try:
            wanted = {"grammar": f"root ::= {grammar(schema)}\n{RULES}"}
        except KeyError:
            wanted = {"json_schema": json.dumps(schema)}
        config.structured_output_config = genai.StructuredOutputConfig(**wanted)
    for name in body.keys() - HANDLED:
        if not hasattr(config, name):
            raise Unsupported(f"the field {name!r} is not supported")
        setattr(config, name, body[name])
    return config


def grammar(schema: dict[str, Any]) -> str:
    """Return the grammar of a JSON schema, its properties in their order and on one line; KeyError of another kind.

    The engine's own reading of a schema lets a model put white space between any two tokens, in which a small one gets
    lost.
    """
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return f"({' | '.join(quote_for_grammar(json.dumps(v, ensure_ascii=False)) for v in values)})"
    kind = schema["type"]
    if isinstance(kind, list):
        return f"({' | '.join(grammar({**schema, 'type': one}) for one in kind)})"
    if kind == "object":
        parts = [f"{quote_for_grammar(json.dumps(k) + ': ')} {grammar(v)}" for k, v in schema["properties"].items()]
        return " ".join(['"{"', ' ", " '.join(parts), '"}"'])
    if kind == "array":
        least, most = schema.get("minItems", 0), schema.get("maxItems", "")
        item = grammar(schema["items"])
        more = f'(", " {item}){{{max(least - 1, 0)},{most - 1 if most else ""}}}'
        return f'"[" ({item} {more}){"" if least else "?"} "]"'
    if kind == "string":
        least, most = schema.get("minLength", 0), schema.get("maxLength", "")
        if most and most > 2 * PIECE and not least:
            return rf'"\"" piece{{0,{most // PIECE - 1}}} rest "\""'
        return rf'"\"" {CHARACTER}{{{least},{most}}} "\""'
    if kind == "integer" and {"minimum", "maximum"} <= schema.keys():
        return grammar({"enum": [*range(schema["minimum"], schema["maximum"] + 1)]})
    return SIMPLE[kind]


def quote_for_grammar(text: str) -> str:
    """Return a text as a grammar writes it."""
    return json.dumps(text, ensure_ascii=False)


def run_engine(path: str, name: str, context: int, threads: int) -> None:
    """Load the model and answer until standard input closes."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what native code prints is no answer
    engine = LoadedModel(path, name, context, threads)
    print("{}", file=out, flush=True)
    requests: SimpleQueue[str] = SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            requests.put(line)
        os._exit(0)  # also in the middle of an answer

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            answer = engine.complete(json.loads(requests.get()))
        except (Unsupported, KeyError, RuntimeError, TypeError, ValueError) as error:
            answer = {"error": {"message": str(error)}, "status": 400}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    run_engine(**json.loads(sys.argv[1]))
