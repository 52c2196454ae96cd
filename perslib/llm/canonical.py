"""One address for all that means the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np


def digest(parts: Mapping[str, Any]) -> str:
    """SHA-256 of the parts in canonical JSON: sorted keys, shortest numbers (1.0 is 1), no NaN, text as it is.

    In the sense of RFC 8785 (JSON canonicalization), for the values that occur in requests.
    """
    text = json.dumps(
        _canonical(parts), sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _canonical(value: Any) -> Any:
    if type(value) is str or value is None:  # most of a request
        return value
    kind = type(value)
    if kind is dict or isinstance(value, Mapping):
        if wrong := [key for key in value if not isinstance(key, str)]:
            raise TypeError(f"keys must be text to be hashed, found {wrong[0]!r}")
        return {key: _canonical(item) for key, item in value.items()}
    if kind is list or isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return int(value) if isinstance(value, float) and value.is_integer() else value
