"""The bits of an identity are taken apart in one module: whoever needs them asks `store/keys.py`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OWNER = ROOT / "core" / "src" / "context_bench" / "store" / "keys.py"
BITS = re.compile(r"1048575|0x[fF]{5}\b|>> ?(10|20|53)\b|& ?~?1023\b|<< ?(10|20|53)\) ?- ?1")


def taken_apart(path: Path) -> list[str]:
    """Return the lines of a module that know how an identity is packed."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [f"{path.name}:{number}" for number, line in enumerate(lines, 1) if BITS.search(line)]


def test_no_other_module_knows_the_bits_of_an_identity() -> None:
    modules = (ROOT / "core" / "src").rglob("*.py")
    assert [found for path in modules if path != OWNER for found in taken_apart(path)] == []


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("examples.id = responses.id & ~1048575", True),
        ("(response >> 10) & 1023", True),
        ("_MASK = ~((1 << 20) - 1)", True),
        ("position = number >> 20", True),
        ("_CHUNK = 1 << 20", False),
        ("place = example_of(number)", False),
    ],
)
def test_the_rule_knows_what_it_looks_for(line: str, is_found: bool, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(line)
    assert bool(taken_apart(path)) == is_found
