"""What `module:object` finds, what it says when there is nothing, and how options reach it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import ConfigurationError
from context_bench_python import PythonSystem

Module = Callable[..., str]
EXAMPLE = {
    "id": "1",
    "context": "Rome is in Italy.",
    "question": "Where is Rome?",
    "answer": "Italy",
}
RAG = """
    def answer(example, top_k=2, label: str = "", filters=None):
        return {"response": f"{example['question']}|{top_k!r}|{label!r}|{filters!r}"}

    class Rag:
        def __init__(self, top_k=2):
            self.top_k = top_k
        def process(self, example):
            return {"response": repr(self.top_k)}
        class Inner:
            def process(self, example):
                return {"response": "inner"}

    class Asker:
        def __call__(self, example):
            return "called"

    rag = Rag(7)
    number = 3

    def build(top_k):
        return Rag(top_k)

    async def build_later(top_k=9):
        return Rag(top_k)
"""


def respond(system: PythonSystem, **fields: Any) -> Any:
    return system.process({**EXAMPLE, **fields})["response"]


@pytest.mark.parametrize(
    ("name", "options", "response"),
    [
        ("answer", {}, "Where is Rome?|2|''|None"),
        ("answer", {"top_k": "5", "label": "5"}, "Where is Rome?|5|'5'|None"),
        (
            "answer",
            {"top_k": "0.5", "filters": {"lang": "en"}},
            "Where is Rome?|0.5|''|{'lang': 'en'}",
        ),
        ("answer", {"arguments": {"label": "a"}}, "Where is Rome?|2|'a'|None"),
        ("Rag", {}, "2"),
        ("Rag", {"top_k": "4"}, "4"),
        ("Rag.Inner", {}, "inner"),
        ("rag", {}, "7"),
        ("Asker", {}, "called"),
        ("build", {"factory": True, "top_k": 8}, "8"),
        ("build_later", {"factory": True}, "9"),
    ],
    ids=str,
)
def test_functions_classes_objects_and_factories_are_asked(
    module: Module, name: str, options: dict[str, Any], response: str
) -> None:
    assert respond(PythonSystem(f"{module(RAG)}:{name}", version="1", **options)) == response


@pytest.mark.parametrize(
    ("target", "options", "said"),
    [
        ("{m}", {}, "has the wrong form: write module:object"),
        ("{m}:", {}, "has the wrong form"),
        ("{m}:answer()", {}, "has the wrong form"),
        ("{m}:anwser", {}, r"the module {m} has no 'anwser'\. Did you mean 'answer'"),
        ("{m}:Rag.iner", {}, r"Rag of the module {m} has no 'iner'\. Did you mean 'Inner'\?"),
        ("{m}x:answer", {}, r"no module '{m}x' is installed or lies in .*\. Did you mean '{m}'"),
        ("{m}.sub:answer", {}, r"no module '{m}.sub' is installed"),
        ("{m}:number", {}, "is of type int, which cannot be asked"),
        (
            "{m}:answer",
            {"topk": 3},
            r"Unknown option 'topk' of {m}:answer\. Did you mean 'top_k'\?",
        ),
        ("{m}:Rag", {"k": 3}, r"Unknown option 'k' of {m}:Rag"),
        ("{m}:rag", {"top_k": 3}, "takes no options: it is an object already"),
        ("{m}:build", {"factory": True}, "needs top_k, which is no option that was given"),
        ("{m}:answer", {"call": "async"}, "has no async way of being called"),
        ("{m}:answer", {"call": "maybe"}, "must be auto, sync or async"),
        ("{m}:answer", {"path": "nowhere"}, "'nowhere', which is no folder"),
        ("{m}:answer", {"arguments": 3}, "must be a table of options"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_target_or_option_is_told_in_one_line(
    module: Module, target: str, options: dict[str, Any], said: str
) -> None:
    name = module(RAG)
    with pytest.raises(ConfigurationError, match=said.replace("{m}", name)) as caught:
        PythonSystem(target.replace("{m}", name), version="1", **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "import no_such_library_here",
            "it needs the module 'no_such_library_here', which is not installed",
        ),
        ("x = 1 / 0", r"ZeroDivisionError: division by zero \(.*line 1\)"),
        ("def f(:\n    pass", r"SyntaxError: .*line 1\)"),
        ("import sys\nsys.exit(3)", r"SystemExit: 3 \(.*line 2\)"),
    ],
    ids=["a missing library", "an error", "no Python", "an exit"],
)
def test_a_module_that_cannot_be_imported_says_why_and_where(
    module: Module, code: str, said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        PythonSystem(f"{module(code)}:answer")
    assert "\n" not in str(caught.value)


def test_a_class_whose_constructor_breaks_says_so(module: Module) -> None:
    name = module("class Rag:\n    def __init__(self):\n        raise KeyError('index')\n")
    with pytest.raises(ConfigurationError, match=r":Rag cannot be set up: KeyError: 'index'\."):
        PythonSystem(f"{name}:Rag")


def test_a_module_that_an_installed_one_hides_is_refused_and_not_confused_with_it(
    module: Module,
) -> None:
    module("def answer(example):\n    return 'mine'\n", "colorsys")
    with pytest.raises(
        ConfigurationError, match=r"There are two modules 'colorsys'.*Give yours another name"
    ):
        PythonSystem("colorsys:answer")


def test_the_folder_is_importable_and_is_no_place_where_plugins_are_looked_for(
    module: Module, tmp_path: Path
) -> None:
    helper = module("WORD = 'late'\n")
    name = module(f"def answer(example):\n    from {helper} import WORD\n    return WORD\n")
    before = list(sys.path)
    assert respond(PythonSystem(f"{name}:answer", version="1")) == "late"
    assert sys.path == before
    shadow = tmp_path / "shadow-1.0.dist-info"
    shadow.mkdir()
    (shadow / "METADATA").write_text("Metadata-Version: 2.1\nName: shadow\nVersion: 1.0\n")
    (shadow / "entry_points.txt").write_text(f"[context_bench.systems]\nshadow = {name}:answer\n")
    from context_bench.plugins.discovery import discover

    found = discover().named("systems", "shadow")
    assert not [component for component in found if component.state == "ok"]


def test_another_folder_can_be_named(module: Module, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    name = module("def answer(example):\n    return 'from src'\n")
    (tmp_path / f"{name}.py").rename(tmp_path / "src" / f"{name}.py")
    assert respond(PythonSystem(f"{name}:answer", path="src", version="1")) == "from src"


def test_a_method_of_a_class_is_refused_before_the_first_row(module: Module) -> None:
    """It has nobody to be asked of: every row failed, since the example has no field 'self'."""
    name = module("""
        class Rag:
            def ask(self, question):
                return question
            @staticmethod
            def plain(question):
                return question
            @classmethod
            def of_class(cls, question):
                return question
        rag = Rag()
    """)
    with pytest.raises(
        ConfigurationError,
        match=r"'\w+:Rag.ask' is a method of the class Rag, .*name the class, or an obj",
    ):
        PythonSystem(f"{name}:Rag.ask", version="1")
    for target in ("Rag.plain", "Rag.of_class", "rag.ask"):
        assert respond(PythonSystem(f"{name}:{target}", version="1")) == "Where is Rome?"
