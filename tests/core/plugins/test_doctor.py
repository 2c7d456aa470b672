"""The doctor: what is installed, in what state, and what plugins have to say for themselves."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

MANIFEST = """
    schema = 1
    api = "1.0"
    doctor = "acme_tools:check"

    [systems.tools]
    summary = "s"
    class = "Tools"
    options.token = { type = "str", secret = true, env = "ACME_TOKEN", help = "h" }
    capabilities = ["env:ACME_REGION"]
"""
CODE = """
    class Tools:
        name = "tools"
        def __init__(self, token=None):
            self.token = token
        def process(self, example):
            return {"response": ""}

    def check():
        print("printed nonsense")
        yield ("box", "STATE", "found\\n  at last")
"""
POINTS = {"systems": {"tools": "acme_tools:Tools"}}


def install(site: Any, state: str = "ok", code: str = CODE, manifest: str = MANIFEST) -> None:
    site.add(
        "acme-tools", code=code.replace("STATE", state), manifest=manifest, entry_points=POINTS
    )


def section(done: Any, name: str) -> dict[str, tuple[str, str]]:
    return {line["subject"]: (line["state"], line["text"]) for line in json.loads(done.out)[name]}


def test_a_sound_installation_is_told_section_by_section(site: Any, context_bench: Run) -> None:
    install(site)
    done = context_bench("doctor", columns=80)
    assert done.code == 0
    titles = [line for line in done.out.splitlines() if not line.startswith(" ")]
    assert titles == [
        "Installation",
        "Plugins",
        "Keys",
        "Endpoints",
        "Storage",
        "Token counters",
        "Checks of plugins",
    ]
    told = json.loads(context_bench("doctor", "--json").out)
    assert told["ok"] is True
    assert {line["subject"] for line in told["installation"]} >= {"Python", "context-bench"}
    assert {line["subject"]: line["state"] for line in told["storage"]} == {
        "SQLite": "ok",
        "runs": "ok",
        "temporary files": "ok",
    }


def test_the_lines_of_a_plugin_are_shown_and_what_it_prints_is_not(
    site: Any, context_bench: Run
) -> None:
    install(site)
    done = context_bench("doctor", "--json")
    assert section(done, "checks of plugins") == {"acme-tools box": ("ok", "found at last")}
    assert "printed nonsense" not in done.out


@pytest.mark.parametrize(("state", "code"), [("ok", 0), ("note", 0), ("warning", 0), ("error", 2)])
def test_only_an_error_fails(state: str, code: int, site: Any, context_bench: Run) -> None:
    install(site, state)
    assert context_bench("doctor", "--json").code == code


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            'yield ("box"',
            'raise OSError("no box"); yield ("box"',
            "check acme_tools:check failed: OSError: no box",
        ),
        (
            '"STATE"',
            '"fine"',
            "is no (subject, state, text); the state is one of ok, note, warning, error",
        ),
        ('yield ("box", "STATE", "found', 'yield ("box", "STATE", 3, "found', "failed: ValueError"),
        ("def check", "def chek", "its check cannot be loaded: loading it raised AttributeError"),
    ],
    ids=["it raises", "an unknown state", "four of three", "a wrong name"],
)
def test_a_check_that_breaks_is_an_error_of_its_plugin(
    old: str, new: str, told: str, site: Any, context_bench: Run
) -> None:
    install(site, code=CODE.replace(old, new))
    done = context_bench("doctor")
    assert done.code == 2
    assert told in done.words


def test_the_check_of_a_blocked_plugin_is_never_called(site: Any, context_bench: Run) -> None:
    install(site, "error")
    done = context_bench("doctor", "-p", "no:acme-tools", "--json")
    assert (done.code, section(done, "checks of plugins")) == (0, {})


def test_plugins_check_holds_the_doctor_against_the_code(site: Any, context_bench: Run) -> None:
    install(site)
    assert context_bench("plugins", "check", "acme-tools").code == 0
    site.add(
        "acme-other",
        code=CODE.replace("def check", "check = 3\n    def chek"),
        manifest=MANIFEST.replace("acme_tools:", "acme_other:"),
        entry_points={"systems": {"tools": "acme_other:Tools"}},
    )
    done = context_bench("plugins", "check", "acme-other")
    assert done.code == 2
    assert "doctor = 'acme_other:check' names int, which cannot be called" in done.words


def test_keys_are_told_by_name_and_never_shown(
    site: Any, context_bench: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(site)
    monkeypatch.setenv("ACME_TOKEN", "canary-token-xyz")
    monkeypatch.delenv("ACME_REGION", raising=False)
    done = context_bench("doctor", "--json")
    keys = section(done, "keys")
    assert keys["ACME_TOKEN"] == ("ok", "set; for tools")
    assert keys["ACME_REGION"] == ("note", "not set; for tools")
    assert "canary" not in done.out + done.err


def test_a_predecessor_in_the_environment_is_recognised(site: Any, context_bench: Run) -> None:
    site.add("context-bench", version="0.9.1", package="something_else")
    done = context_bench("doctor")
    assert done.code == 2
    assert "the predecessor 0.9.1 is installed, too" in done.words
    assert "`pip uninstall context-bench`" in done.words


def test_another_package_of_the_same_name_on_the_path_is_told(
    site: Any, context_bench: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other" / "context_bench"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("")
    monkeypatch.setattr("sys.path", [*sys.path, str(other.parent)])
    done = context_bench("doctor")
    assert done.code == 0
    assert (
        f"another package of its name lies behind it on the path, in {other.parent.resolve()}"
        in done.words
    )


def test_a_broken_plugin_is_a_warning_and_an_error_when_the_project_uses_it(
    site: Any, context_bench: Run, workplace: Path
) -> None:
    install(site, manifest=MANIFEST.replace('summary = "s"', "summary = 3"))
    done = context_bench("doctor", "--json")
    assert done.code == 0
    assert section(done, "plugins")["acme-tools"][0] == "warning"
    (workplace / "context-bench.toml").write_text('[[systems]]\nname = "tools"\n')
    done = context_bench("doctor", "--json", "--offline")
    assert done.code == 2
    assert section(done, "plugins")["acme-tools"][0] == "error"


def test_a_faulty_project_file_is_told_and_everything_else_as_well(
    site: Any, context_bench: Run, workplace: Path
) -> None:
    install(site)
    (workplace / "context-bench.toml").write_text("[run]\nlimt = 3\n")
    done = context_bench("doctor", "--json")
    assert done.code == 2
    assert (
        "Unknown key 'limt' of [run] in context-bench.toml"
        in section(done, "installation")["project file"][1]
    )
    assert "acme-tools box" in section(done, "checks of plugins")


def test_run_files_are_counted(site: Any, context_bench: Run, workplace: Path) -> None:
    install(site)
    (workplace / "runs").mkdir()
    (workplace / "runs" / "a.sqlite").write_bytes(b"x" * 4096)
    assert section(context_bench("doctor", "--json"), "storage")["runs"][1].startswith(
        "1 run file, 4.0 KiB; "
    )
