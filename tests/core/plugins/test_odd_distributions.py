"""Distributions that say one thing here and another there: what is theirs, what they are called, which copy is meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from context_bench.plugins.discovery import discover

MANIFEST = """
    schema = 1
    api = "1.0"
    [evaluators.{name}]
    summary = "Odd"
    class = "Evaluator"
    primary = "odd"
    version = "1"
    scores.odd = {{}}
"""
CODE = """
    class Evaluator:
        name = "odd"

        def score(self, original, processed):
            return {"odd": 1.0}
"""


@pytest.mark.parametrize(
    "target", ["sys:exit", "builtins:object", "_imp:lock_held", "marshal:loads"]
)
def test_a_module_of_the_interpreter_is_nobody_s_package(
    target: str, site: Any, context_bench: Any
) -> None:
    site.basics()
    points = {"evaluators": {"odd": target}}
    site.add("acme-odd", code=CODE, manifest=MANIFEST.format(name="odd"), entry_points=points)
    done = context_bench("run", "-s", "echo", "-d", "toy", "--evaluators", "odd", "-q")
    assert done.code == 2
    assert "Evaluator acme-odd/odd is in conflict" in done.words
    assert "in the interpreter itself, is none of its files" in done.words
    assert "pip uninstall acme-odd" in done.words


LOOKALIKES = {
    "a Cyrillic letter": "еxact",
    "a Roman numeral": "oⅼd",
    "a full-width letter": "ｏdd",
    "a digit of another script": "odd٣",
}


@pytest.mark.parametrize("case", LOOKALIKES)
def test_a_name_that_looks_like_another_is_none(case: str, site: Any, context_bench: Any) -> None:
    site.basics()
    name = LOOKALIKES[case]
    manifest = MANIFEST.replace("evaluators.{name}", 'evaluators."{name}"').format(name=name)
    site.add(
        "acme-odd",
        code=CODE,
        manifest=manifest,
        entry_points={"evaluators": {name: "acme_odd:Evaluator"}},
    )
    [found] = [
        one for one in discover().of_kind("evaluators") if one.distribution.name == "acme-odd"
    ]
    assert found.state == "invalid"
    assert "is no name" in found.reason
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q")
    assert done.code == 0
    assert "acme-odd" in done.err


def test_a_distribution_that_looks_like_another_is_none(site: Any) -> None:
    site.evaluator("асme-odd", "odd", package="acme_odd")  # its first two letters are Cyrillic
    [found] = discover().of_kind("packages")
    assert (found.state, "named after no distribution" in found.reason) == ("invalid", True)


NAMES = {
    "another distribution's": ("acme_odd-1.0.dist-info", "acme-other"),
    "one with dashes": ("acme-odd-1.0.dist-info", "acme-odd"),
}


@pytest.mark.parametrize("case", NAMES)
def test_metadata_in_a_folder_of_another_name_is_invalid(
    case: str, site: Any, context_bench: Any
) -> None:
    folder, name = NAMES[case]
    site.basics()
    site.evaluator("acme-odd", "odd", wire="[{ always = true }]")
    info = site.folder / "acme_odd-1.0.dist-info"
    info = info.rename(info.with_name(folder))
    text = (info / "METADATA").read_text()
    (info / "METADATA").write_text(text.replace("Name: acme-odd", f"Name: {name}"))
    site.names.append("acme")
    [found] = [one for one in discover().of_kind("evaluators") if one.name == "odd"]
    assert found.state == "invalid"
    assert f"its METADATA is that of '{name}'" in found.reason
    assert str(info) in found.remedy
    assert context_bench("run", "-s", "echo", "-d", "toy", "-q", "--evaluators", "odd").code == 2


@pytest.mark.parametrize("spelling", ["Acme_Odd", "acme.odd", "ACME-ODD"])
def test_another_spelling_of_one_name_is_the_same_distribution(spelling: str, site: Any) -> None:
    site.evaluator("acme-odd", "odd")
    metadata = site.folder / "acme_odd-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("Name: acme-odd", f"Name: {spelling}"))
    [found] = [one for one in discover().of_kind("evaluators") if one.name == "odd"]
    assert found.state == "ok"


def test_what_only_the_hidden_copy_brings_is_in_conflict_and_not_unknown(
    site: Any, context_bench: Callable[..., Any], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.basics()
    site.evaluator("acme-odd", "old", version="1.0")
    second = tmp_path / "second"
    monkeypatch.syspath_prepend(str(second))
    site.evaluator("acme-odd", "new", version="2.0", folder=second)
    for name in ("old", "new"):
        done = context_bench("run", "-s", "echo", "-d", "toy", "--evaluators", name, "-q")
        assert done.code == 2
        assert f"Evaluator acme-odd/{name} is in conflict: it is installed 2 times" in done.words


def test_a_flag_of_what_is_blocked_says_so(site: Any, context_bench: Any) -> None:
    site.basics()
    manifest = (
        MANIFEST.format(name="odd")
        + '    options.depth = { flag = "--depth", help = "How deep" }\n'
    )
    site.add(
        "acme-odd",
        code=CODE,
        manifest=manifest,
        entry_points={"evaluators": {"odd": "acme_odd:Evaluator"}},
    )
    done = context_bench("run", "-s", "echo", "-d", "toy", "--depth", "3", "-p", "no:odd", "-q")
    assert done.code == 2
    told = "it is for odd, which is blocked: switched off by the command line. Leave it out, or add one."
    assert told in done.words
