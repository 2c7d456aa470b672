"""The commands of the kit, with core and nothing else installed."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
import tomli

from context_bench.cli import execute

MANIFEST = """schema = 1
api = "1.0"
[evaluators.one]
summary = "s"
class = "One"
primary = "one"
version = "1"
scores.one = {}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def test_the_kit_passes_its_own_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["plugins", "check", "context-bench-kit", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {
        f"context-bench-kit/{name} (command)": []
        for name in ("check", "diff", "disable", "enable", "new", "validate", "wiring")
    }


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (MANIFEST, 0, "m.toml: ok"),
        (MANIFEST.replace('api = "1.0"', 'api = "9.0"'), 2, "it was written for plugin API 9.0"),
        (
            MANIFEST.replace('"one"\nversion', '"two"\nversion'),
            2,
            "evaluators.one.primary: 'two' is not one of its scores",
        ),
        (MANIFEST + "colour = 1\n", 2, "evaluators.one.colour: unknown key"),
        ("schema = ", 2, "not valid TOML"),
    ],
    ids=["good", "another API", "a wrong value", "an unknown key", "no TOML"],
)
def test_a_manifest_is_validated_without_being_installed(
    text: str, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("m.toml").write_text(text, encoding="utf-8")
    assert execute(["plugins", "validate", "m.toml"]) == code
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("limit", "said"), [("nan", "--time-limit must be"), ("inf", "inf is not in the range")]
)
def test_a_time_limit_that_is_none_is_refused(
    limit: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["plugins", "check", "context-bench-kit", "--time-limit", limit]) == 2
    assert said in capsys.readouterr().err


def test_a_plugin_is_switched_off_and_on_in_the_project_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("context-bench.toml").write_text("# ours\n", encoding="utf-8")
    assert execute(["plugins", "disable", "validate"]) == 0
    assert tomli.loads(Path("context-bench.toml").read_text(encoding="utf-8")) == {
        "plugins": {"disable": ["validate"]}
    }
    assert execute(["plugins", "validate", "context-bench.toml"]) == 2
    assert "is blocked" in capsys.readouterr().err
    assert execute(["plugins", "enable", "validate"]) == 0
    assert Path("context-bench.toml").read_text(encoding="utf-8").startswith("# ours\n")
    assert execute(["plugins", "disable", "nobody"]) == 2


def test_the_wiring_of_a_dataset_is_explained_as_text_and_as_json(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = execute(["explain", "wiring", "-d", "nobodys-rows", "--json"])
    report = json.loads(capsys.readouterr().out)["nobodys-rows"]
    assert (code, report["error"]) == (0, None)
    assert list(report) == [
        "dataset",
        "names",
        "tags",
        "primary",
        "error",
        "evaluators",
        "warnings",
        "extensions",
    ]
    assert execute(["explain", "wiring", "-d", "nobodys-rows", "-d", "others", "--tag", "qa"]) == 0
    told = capsys.readouterr()
    assert f"nobodys-rows: primary score {report['primary'] or 'none'}\n" in told.out
    assert "\nothers: primary score " in told.out
    assert told.err.splitlines()[0].startswith(
        "Warning: Unknown dataset 'nobodys-rows', so it is taken for a label"
    )


PROJECT = """
[project]
name = "acme-greeting"
version = "1.0"
dependencies = ["context-bench>=1,<2"]
[project.entry-points."context_bench.tokenizers"]
acme = "acme_greeting:Thing"
"""
GREETING = (
    "class Thing:\n    name = 'acme'\n    def count(self, text):\n        return len(text) / 4\n"
)
GREETING_MANIFEST = (
    'schema = 1\napi = "1.0"\n[tokenizers.acme]\nsummary = "Letters"\nclass = "Thing"\n'
)


def write_project(folder: Path) -> None:
    package = folder / "src" / "acme_greeting"
    package.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    (package / "__init__.py").write_text(GREETING, encoding="utf-8")
    (package / "context_bench_plugin.toml").write_text(GREETING_MANIFEST, encoding="utf-8")


def write_wheel(folder: Path) -> Path:
    """Write a wheel of the project, as a build tool does."""
    wheel = folder / "acme_greeting-1.0-py3-none-any.whl"
    points = "[context_bench.tokenizers]\nacme = acme_greeting:Thing\n"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("acme_greeting/__init__.py", GREETING)
        packed.writestr("acme_greeting/context_bench_plugin.toml", GREETING_MANIFEST)
        metadata = "Metadata-Version: 2.1\nName: acme-greeting\nVersion: 1.0\n"
        packed.writestr("acme_greeting-1.0.dist-info/METADATA", metadata)
        packed.writestr("acme_greeting-1.0.dist-info/entry_points.txt", points)
    return wheel


@pytest.mark.parametrize("form", ["a folder", "a wheel"])
def test_a_package_is_checked_before_it_is_installed(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if form == "a folder":
        write_project(tmp_path / "greeting")
        path = str(tmp_path / "greeting")
    else:
        path = str(write_wheel(tmp_path))
    assert execute(["plugins", "check", path]) == 0
    assert "acme-greeting/acme (tokenizer): ok" in capsys.readouterr().out
    assert execute(["plugins", "check", path, "--run"]) == 2
    shown = capsys.readouterr().out
    assert "not an int [not-a-number]" in shown
    assert "note: imported in" in shown
    assert execute(["plugins", "check", path, "--run", "--json"]) == 2
    verdict = json.loads(capsys.readouterr().out)["acme-greeting/acme (tokenizer)"]
    assert verdict["faults"]
    assert verdict["notes"]
    assert execute(["plugins", "check", "acme-greeting"]) == 2  # it is not installed


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("absent.whl", None),
        ("broken.whl", "not a wheel"),
        ("empty/README.md", ""),
        ("broken/pyproject.toml", "[project"),
        ("unnamed/pyproject.toml", "[project]\n"),
        ("pointless/pyproject.toml", "[project]\nname = 'acme'\n"),
    ],
)
def test_a_path_without_a_package_is_refused(
    name: str, text: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    if text is not None:
        path.write_text(text, encoding="utf-8")
    subject = path if path.suffix == ".whl" else path.parent
    assert execute(["plugins", "check", str(subject)]) == 2
    assert subject.name in capsys.readouterr().err
