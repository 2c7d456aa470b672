"""The commands of the kit, with core and nothing else installed."""

from __future__ import annotations

import json
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
        for name in ("check", "diff", "disable", "enable", "validate", "wiring")
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
