"""A parameter has one name at each door; its name at another door is told, and not taken for a mistake that nobody knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.errors import UnknownNameError
from context_bench.plan.run_config import PARAMETERS


@pytest.mark.parametrize("name", ["limit", "n"])
def test_evaluate_tells_its_own_name(name: str) -> None:
    with pytest.raises(UnknownNameError, match=f"'{name}' of .*Here it is max_examples."):
        evaluate(lambda example: "x", [{"answer": "x"}], progress=False, **{name: 1})


@pytest.mark.parametrize("name", ["max_examples", "max-examples", "n"])
def test_the_project_file_and_set_tell_theirs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert execute(["run", "-s", "identity", "-d", "toy", "--set", f"run.{name}=3"]) == 2
    assert "Here it is run.limit." in capsys.readouterr().err
    Path("context-bench.toml").write_text(f"[run]\n{name} = 3\n")
    assert execute(["run", "-s", "identity", "-d", "toy"]) == 2
    assert (
        f"Unknown key '{name}' of [run] in context-bench.toml. Here it is run.limit."
        in capsys.readouterr().err
    )


def test_a_key_that_belongs_to_the_top_of_the_project_file_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("context-bench.toml").write_text('[run]\nbaseline = "direct"\n')
    assert execute(["run", "-s", "identity", "-d", "toy"]) == 2
    assert (
        "Here it is baseline, at the top of the file, outside of every table."
        in capsys.readouterr().err
    )


def test_every_name_of_every_parameter_is_told_where_it_is_another() -> None:
    from context_bench.plan.run_config import called_here

    for field, one in PARAMETERS.items():
        flags = [flag.partition("/")[0].lstrip("-") for flag in one.flags]
        others = {field, *flags, *([one.python] if one.python else [])}
        for name in others if one.key and one.key.startswith("run.") else ():
            told = called_here(name, lambda parameter: parameter.key)
            assert told.startswith("Here it is run."), name
    assert called_here("nothing-like-it", lambda parameter: parameter.key) == ""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[run]\nlimti = 3\n", "Unknown key 'limti' of [run] in other.toml. Did you mean 'limit'?"),
        ('[run]\nlimit = "x"\n', "other.toml: run.limit must be a positive integer, got 'x'."),
        ("[plugins]\nalow = []\n", "Unknown key 'alow' of [plugins] in other.toml."),
        ('[[systems]]\nlabell = "x"\n', "Unknown key 'labell' of systems[0] in other.toml."),
        ("[[tabel]]\n", "Unknown table 'tabel' of other.toml."),
    ],
    ids=["key", "value", "plugins", "system", "table"],
)
def test_a_message_names_the_project_file_that_was_given(
    content: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("other.toml").write_text(content)
    assert execute(["run", "--project", "other.toml"]) == 2
    assert message in capsys.readouterr().err
