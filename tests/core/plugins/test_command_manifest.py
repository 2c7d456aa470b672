"""What a manifest says about commands and extensions."""

from __future__ import annotations

from pathlib import Path

import pytest

from context_bench.plugins.component_metadata import KINDS
from context_bench.plugins.manifest import parse_manifest

HEAD = 'schema = 1\napi = "1.0"\n'
ROOT = Path(__file__).parents[3]


def faults_of(body: str) -> list[str]:
    manifest = parse_manifest((HEAD + body).encode())
    return [
        *manifest.faults,
        *(fault for faults in manifest.component_faults.values() for fault in faults),
    ]


def test_a_command_says_where_it_belongs_and_an_extension_which_hooks_it_has() -> None:
    manifest = parse_manifest(
        (
            HEAD + '[commands.verify]\nsummary = "look"\nparent = "explain"\n'
            '[hooks.budget]\nsummary = "stop"\nclass = "Budget"\nimplements = ["admit_call"]\n'
        ).encode()
    )
    assert manifest.components["commands", "verify"].parent == "explain"
    assert manifest.components["hooks", "budget"].implements == ("admit_call",)
    assert not manifest.component_faults
    assert not manifest.warnings


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (
            '[commands.a]\nsummary = "s"\nextends = "history"',
            "commands.a.extends: expected one of run, table",
        ),
        (
            '[commands.a]\nsummary = "s"\nextends = "run"\nparent = "plugins"',
            "what extends run is no command",
        ),
        ('[commands.a]\nsummary = "s"\ngroup = "yes"', "commands.a.group: expected true or false"),
        ('[hooks.a]\nsummary = "s"', "hooks.a.implements: missing"),
        ('[hooks.a]\nsummary = "s"\nimplements = ["admit"]', "hooks.a.implements"),
        (
            '[hooks.a]\nsummary = "s"\nimplements = ["admit_call"]\ndefault = "endpoint"',
            "hooks.a.default: an extension that implements admit_call must be requested",
        ),
        (
            '[hooks.a]\nsummary = "s"\nimplements = ["row_finished"]\ndefault = "installed"\n'
            'capabilities = ["network"]',
            "hooks.a.default: an extension that needs network must be requested",
        ),
        (
            '[hooks.a]\nsummary = "s"\nimplements = ["row_finished"]\ndefault = "always"',
            "hooks.a.default: expected one of installed, endpoint",
        ),
    ],
)
def test_a_fault_is_told_with_its_path(body: str, fault: str) -> None:
    assert any(fault in found for found in faults_of(body)), faults_of(body)


def test_a_kind_is_in_the_catalog_only_when_a_run_uses_it() -> None:
    assert not {"executors", "stores"} & set(KINDS)


def test_every_kind_is_on_the_page_of_the_manifest() -> None:
    page = (ROOT / "docs" / "reference" / "manifest.md").read_text(encoding="utf-8")
    assert all(f"| `{kind}` | table |" in page for kind in KINDS)
