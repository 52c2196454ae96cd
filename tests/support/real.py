"""Public data sets, where somebody put them: `$PERSLIB_REAL_DATA`, or a folder `shared/data` beside the checkout.

They are not part of the project. Tests on them skip, saying so, when they are not there.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("PERSLIB_REAL_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


def needs(name: str) -> pytest.MarkDecorator:
    """Skip unless this file or folder is at hand."""
    return pytest.mark.data(name)
