from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

import context_bench_judge
import context_bench_judging
from context_bench_judge import LLMJudge
from context_bench_judge.judge import JUDGE_VERSION

tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
PACKAGE = Path(context_bench_judge.__file__).parent
MANIFEST: dict[str, Any] = tomllib.loads(
    (PACKAGE / "context_bench_plugin.toml").read_text("utf-8")
)["evaluators"]["judge"]
GROUP: dict[str, Any] = tomllib.loads(
    (Path(context_bench_judging.__file__).parent / "context_bench_plugin.toml").read_text("utf-8")
)["flags"]["judge"]["options"]
OPTIONS = {**GROUP, **MANIFEST["options"]}
PARAMETERS = inspect.signature(LLMJudge).parameters


def test_the_manifest_names_the_class_its_version_and_its_only_key() -> None:
    assert getattr(context_bench_judge, MANIFEST["class"]) is LLMJudge
    assert MANIFEST["version"] == JUDGE_VERSION
    assert list(MANIFEST["scores"]) == [MANIFEST["primary"]] == ["judge_score"]
    assert MANIFEST["wire"] == [{"option": "judge-url"}]


def test_every_argument_is_an_option() -> None:
    assert set(OPTIONS) == set(PARAMETERS)


def test_the_documented_flags_reach_the_judge() -> None:
    assert MANIFEST["option_groups"] == ["judge"]
    assert GROUP["base_url"]["flag"] == "--judge-url"
    assert GROUP["model"]["flag"] == "--judge-model"
    assert MANIFEST["options"]["api_key"]["secret"] is True


def test_the_blocks_of_the_readme_run(run_readme: Any, fake: Any) -> None:
    fake.says("It names the right city. Rating: [[4]]")
    run_readme({"http://localhost:8080": fake.url})
