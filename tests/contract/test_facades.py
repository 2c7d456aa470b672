"""The documented import paths, with the plugins and without them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from context_bench.errors import PluginError
from context_bench.installation import install_hint
from context_bench.plugins.first_party import COMPONENTS


def python(code: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *flags, "-c", code], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("kind", ["evaluators", "datasets", "systems"])
def test_a_facade_exports_what_every_manifest_names(kind: str) -> None:
    import importlib

    from context_bench.plugins.discovery import discover

    facade = importlib.import_module(f"context_bench.{kind}")
    lacking = {component.id for component in discover() if component.lacks_extra}
    for name, (class_name, distribution) in COMPONENTS[kind].items():
        if not class_name:
            continue  # a dataset that is a card alone has no code to import
        if f"{distribution}/{name}" in lacking:
            with pytest.raises(PluginError, match="pip install"):
                getattr(facade, class_name)
            continue
        package = importlib.import_module(distribution.replace("-", "_"))
        assert getattr(facade, class_name) is getattr(package, class_name)
        assert class_name in dir(facade)


def test_the_documented_imports_work() -> None:
    done = python(
        "from context_bench import evaluate, EvalResult, EvalRow\n"
        "from context_bench.evaluators import SummarizationQuality, AnswerQuality\n"
        "from context_bench.evaluators.rouge import rouge_l\n"
        "from context_bench.systems import OpenAIProxy\n"
        "from context_bench_rouge import SummarizationQuality as S, RougeScore, rouge_l as r\n"
        "assert S is SummarizationQuality and r is rouge_l\n"
    )
    assert done.returncode == 0, done.stderr


HIDE = """
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "context_bench_rouge" else find_spec(name, *rest)
import importlib_metadata
original = importlib_metadata.entry_points
importlib_metadata.entry_points = lambda **k: [e for e in original(**k) if "rouge" not in e.value]
"""


@pytest.mark.parametrize(
    "statement",
    [
        "from context_bench.evaluators import SummarizationQuality",
        "from context_bench.evaluators.rouge import rouge_l",
    ],
)
def test_a_first_party_name_without_its_plugin_says_how_to_install_it(statement: str) -> None:
    done = python(HIDE + f"try:\n    {statement}\nexcept ImportError as error:\n    print(error)\n")
    assert "comes with context-bench-rouge, which is not installed" in done.stdout, done.stderr
    assert install_hint("context-bench-rouge") in done.stdout


def test_an_unknown_name_is_an_attribute_error() -> None:
    import context_bench.evaluators

    with pytest.raises(
        AttributeError, match=r"no attribute 'Sumarization': no installed plugin exports it"
    ):
        context_bench.evaluators.Sumarization  # noqa: B018


def test_importing_the_package_imports_nothing_else() -> None:
    done = python(
        "import sys; before = set(sys.modules); import context_bench; print(sorted(set(sys.modules) - before))",
        "-S",
    )
    done = python(
        "import sys; before = set(sys.modules); import context_bench; print(sorted(set(sys.modules) - before))"
    )
    assert done.stdout.strip() in ("['context_bench']", "['__future__', 'context_bench']")


def test_evaluate_is_imported_without_click_rich_pluggy_or_asyncio() -> None:
    heavy = ("click", "rich", "pluggy", "asyncio", "tomli", "importlib_metadata")
    done = python(
        f"import sys; from context_bench import evaluate; print(*(m for m in {heavy} if m in sys.modules))"
    )
    assert done.stdout.strip() == ""


def test_core_requires_its_six_dependencies_and_nothing_else(repository: Path) -> None:
    import tomli

    project = tomli.loads((repository / "core" / "pyproject.toml").read_text())["project"]
    names = sorted(requirement.partition(">")[0] for requirement in project["dependencies"])
    assert names == ["attrs", "click", "importlib-metadata", "pluggy", "rich", "tomli"]
    assert "optional-dependencies" not in project
