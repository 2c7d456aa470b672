"""The page of licenses says what the metadata of installed distributions says, and nobody's license forbids our use."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.one_python

ROOT = Path(__file__).resolve().parents[2]


def module() -> Any:
    """Return docs/licenses.py, which is in no package."""
    name = "context_bench_licenses"
    if name not in sys.modules:
        spec = spec_from_file_location(name, ROOT / "docs" / "licenses.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


licenses = module()

PERMISSIVE = {
    "0BSD",
    "Apache-2.0",
    "BSD",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "CNRI-Python",
    "MIT",
    "MIT-CMU",
    "PSF-2.0",
    "Unlicense",
    "Zlib",
}
WEAK_COPYLEFT = {
    "certifi": "MPL-2.0",  # a list of certificates, used as it is
    "psycopg": "LGPL-3.0-only",
    "pycountry": "LGPL-2.1-only",  # of the extra `sumy`, imported and not changed
    "tqdm": "MPL-2.0 AND MIT",  # used as it is
}


def test_the_page_is_up_to_date() -> None:
    assert licenses.differences() == [], (
        "install everything with its extras and run `python docs/licenses.py`"
    )


def test_the_page_has_every_requirement_of_every_package() -> None:
    text = licenses.PAGE.read_text(encoding="utf-8")
    missing = [name for name in licenses.direct() if f"| {name} |" not in text]
    assert missing == []


def test_every_license_is_permissive_or_known_to_be_weak_copyleft() -> None:
    for line in licenses.PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("| ") or cells[0] == "distribution":
            continue
        parts = {
            part.strip("() ") for option in cells[1].split(" AND ") for part in option.split(" OR ")
        }
        assert parts <= PERMISSIVE or WEAK_COPYLEFT.get(cells[0]) == cells[1], line


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("| attrs | MIT |", "| attrs | GPL-3.0-only |"), "attrs has the license MIT"),
        (("| attrs | MIT |", "| attrz | MIT |"), "attrs is missing"),
        (
            ("| click | BSD-3-Clause | ", "| click | BSD-3-Clause | nobody, "),
            "click is required by",
        ),
        (
            ("| pluggy |", "| left-behind | MIT | core |  |\n| pluggy |"),
            "left-behind is not required",
        ),
    ],
    ids=["license", "missing", "required by", "not required"],
)
def test_a_change_is_noticed(
    change: tuple[str, str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = licenses.PAGE.read_text(encoding="utf-8")
    assert change[0] in text
    page = tmp_path / "licenses.md"
    page.write_text(text.replace(*change), encoding="utf-8")
    monkeypatch.setattr(licenses, "PAGE", page)
    assert any(named in wrong for wrong in licenses.differences())


@pytest.mark.parametrize(
    ("requirement", "name"),
    [
        ("attrs>=23.2", "attrs"),
        ("Scikit_Learn[extra]>=1; python_version > '3.9'", "scikit-learn"),
        ("zope.interface (>=5)", "zope-interface"),
        ("torch ; extra == 'x'", "torch"),
    ],
)
def test_the_name_of_a_requirement_is_read(requirement: str, name: str) -> None:
    assert licenses.name_of(requirement) == name
