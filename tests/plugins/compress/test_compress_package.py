from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import context_bench_compress

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = Path(context_bench_compress.__file__).parent
MANIFEST: dict[str, Any] = tomllib.loads((PACKAGE / "context_bench_plugin.toml").read_text("utf-8"))
SYSTEMS: dict[str, Any] = MANIFEST["systems"]
README = Path(__file__).resolve().parents[3] / "plugins" / "context-bench-compress" / "README.md"


@pytest.mark.parametrize(
    "name", [name for name in SYSTEMS if name != "by-message"]
)  # which stands around another
def test_the_manifest_says_of_a_system_what_its_code_says(name: str) -> None:
    facts = SYSTEMS[name]
    kind = getattr(context_bench_compress, facts["class"])
    try:
        system = kind()
    except ImportError as error:
        pytest.skip(str(error))
    assert system.name == name
    assert list(system.reads) == facts["reads"]
    options = facts.get("options", {})
    parameters = inspect.signature(kind).parameters if options else {}
    assert {key: option.get("default") for key, option in options.items()} == {
        key: parameter.default for key, parameter in parameters.items()
    }
    assert facts["kind"] == "transformer"


def test_names_agree_with_the_entry_points() -> None:
    points = tomllib.loads(README.with_name("pyproject.toml").read_text("utf-8"))["project"][
        "entry-points"
    ]
    assert points == {
        "context_bench.systems": {
            name: f"context_bench_compress:{facts['class']}" for name, facts in SYSTEMS.items()
        }
    }


def test_the_example_of_the_readme_is_true(
    run_readme: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_readme()
    assert capsys.readouterr().out.startswith("The access code is 42.\n")


def test_every_extra_is_one_of_the_package() -> None:
    project = tomllib.loads(README.with_name("pyproject.toml").read_text("utf-8"))["project"]
    named = {facts["extra"] for facts in SYSTEMS.values() if "extra" in facts}
    assert named == set(project["optional-dependencies"]) == {"sumy", "embeddings", "llmlingua"}


@pytest.mark.parametrize(
    ("kind", "extra"),
    [("LSASummary", "sumy"), ("EmbeddingPassages", "embeddings"), ("LLMLingua2", "llmlingua")],
)
def test_without_its_extra_a_system_says_how_to_install_it(
    kind: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from context_bench_compress import extras

    def nowhere(name: str) -> str:
        raise extras.PackageNotFoundError(name)

    monkeypatch.setattr(extras, "version", nowhere)
    with pytest.raises(ImportError, match=rf"install .*context.bench.compress\S*\[{extra}\]"):
        getattr(context_bench_compress, kind)()


def test_the_readme_names_every_system_and_option() -> None:
    text = README.read_text("utf-8")
    for name, facts in SYSTEMS.items():
        assert f"`{name}`" in text
        for option in facts.get("options", {}):
            assert f"`{option}`" in text


def test_heavy_libraries_wait_until_they_are_needed() -> None:
    code = (
        "import sys, context_bench_compress as c;"
        "c.Head().process({'context': 'a b c'}); c.BM25Passages(); c.LeadSentences();"
        "print([name for name in ('bm25s', 'numpy', 'sentencex', 'sumy', 'onnxruntime', 'llmlingua') if name in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )
