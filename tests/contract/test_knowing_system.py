"""What a benchmark's headline makes of a system that knows, of one that lists guesses, and of one that knows nothing.

Every card of the hub is loaded by its name, its records made up by us, and its headline is the one that a run shows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hub_records import RECORDS, publish_dataset

from context_bench import evaluate
from context_bench.errors import ContextBenchError, NothingToCompressError, PluginError
from context_bench.plan.systems import FunctionSystem
from context_bench.plugins.discovery import discover
from context_bench.plugins.loading import load
from context_bench.prompts import NONE, context_role, prompt_texts
from context_bench.run.systems import Chain
from context_bench_compress import Head

pytest.importorskip("context_bench_huggingface")
pytestmark = pytest.mark.one_python

CATALOG = discover()
CARDS = {name: CATALOG.find("datasets", name).dataset for name in sorted(RECORDS)}
WORDINGS = {
    "bare": "{}",
    "sentence": "The answer is {}.",
    "bold": "**{}**",
    "behind reasoning": "<think>It may be something else.</think>\n\n{}",
    "final answer": "I read it twice.\n\nFinal answer: {}",
    "LaTeX": "$\\boxed{{\\text{{{}}}}}$",
    "list of one": "- {}",
    "Spanish": "La respuesta es {}.",
}
OF_EXPRESSIONS = {**WORDINGS, "LaTeX": "$\\boxed{{{}}}$"}
OF_CODE = {
    "bare": "{}",
    "behind reasoning": "<think>It may be something else.</think>\n\n{}",
    "fenced": "```python\n{}\n```",
    "introduced": "Here is the function:\n\n```python\n{}\n```\n\nIt is short.",
}
OF_SUMMARIES = {"bare": "{}", "behind reasoning": "<think>I read it.</think>\n\n{}"}
"""ROUGE counts every word of a reply, so other words around a summary are part of it."""

JUDGED = {
    "alpaca-eval": "a judge compares two answers",
    "mt-bench": "a judge rates the answer",
    "ifeval": "no answer is the right one: programs check the form",
    "swebench": "the tests run in containers",
    "swebench-lite": "the tests run in containers",
    "swebench-verified": "the tests run in containers",
}
"""Cards whose headline nobody can know the answer of."""

OF_SESSIONS = {"longmemeval"}
"""Cards before which a memory stands: a model is not asked without one."""

GUESSES = {
    "short": ["Paris", "Bern", "Oslo", "Rome", "Riga", "Kiev", "Bonn", "Lyon", "Nice"],
    "letter": list("ABCDEFGHIJ"),
    "number": list("123456789"),
    "expression": list("123456789"),
    "label": ["Entailment", "Contradiction", "SUPPORTS", "REFUTES", "True", "False", "valid", "(A)", "(C)"],
    "code": ["def f(): pass"] * 9,
    "calls": ["[a()]", "[b()]", "[c()]", "[d()]", "[e()]", "[f()]", "[g()]", "[h()]", "[i()]"],
    "summary": ["A storm came.", "He won.", "Taxes rise.", "It rained.", "They left.", "A cat slept.", "Trains are late.",
                "Prices fell.", "Snow fell."],
}  # fmt: skip


class Says:
    """Answers each example with what a function makes of its right answer."""

    reads_gold = True

    def __init__(self, name: str, words: Callable[[str], str]) -> None:
        self.name = name
        self._words = words

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        answer = example.get("correct_letter") or example.get("answer")
        if example.get("relevance"):
            answer = "[area(base=1)]"  # any call
        return {"response": self._words(str(answer))}


def form_of(name: str) -> str:
    return str(CARDS[name].of_config("answer_form", None))


@pytest.fixture
def published(hub: Any) -> Callable[[str], None]:
    def put(name: str) -> None:
        publish_dataset(hub, name, load(CATALOG.find("datasets", name)))

    return put


def headline(name: str, systems: list[Says]) -> dict[str, float]:
    """Return the mean headline of each system over the rows with gold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # configurations of the cards of this test have few rows
        result = evaluate(systems=systems, dataset=name, progress=False)
    scores: dict[str, list[float]] = {system.name: [] for system in systems}
    for row in result.rows:
        if row.score is not None:
            scores[row.system].append(row.score)
    return {system: sum(found) / len(found) for system, found in scores.items()}


def guesses(name: str, answer: str) -> str:
    """Return a list of candidates, the right answer in its middle."""
    others = [guess for guess in GUESSES[form_of(name)] if guess not in answer]
    return ", ".join([*others[:5], answer, *others[5:9]])


def test_every_card_says_how_it_is_asked() -> None:
    for name, card in CARDS.items():
        assert card.answer_form, name
        assert card.comparable, name
    assert {name for name in CARDS if name not in JUDGED} | set(JUDGED) == set(CARDS)


@pytest.mark.parametrize("name", [name for name in CARDS if name not in JUDGED])
def test_a_system_that_knows_is_right_in_every_wording(
    name: str, published: Callable[[str], None]
) -> None:
    published(name)
    of_form = {"code": OF_CODE, "summary": OF_SUMMARIES, "expression": OF_EXPRESSIONS}
    wordings = of_form.get(form_of(name), WORDINGS)
    systems = [Says(wording, text.format) for wording, text in wordings.items()]
    found = headline(name, systems)
    assert min(found.values()) >= 0.95, found


@pytest.mark.parametrize("name", [name for name in CARDS if name not in JUDGED])
def test_a_list_of_guesses_and_no_answer_are_worth_little(
    name: str, published: Callable[[str], None]
) -> None:
    published(name)
    systems = [
        Says("guesses", lambda answer: guesses(name, answer)),
        Says("nothing", lambda answer: "I do not know."),
    ]
    found = headline(name, systems)
    assert found["guesses"] <= 0.2, found
    assert found["nothing"] <= 0.2, found


@pytest.mark.parametrize("compress_question", [False, True])
@pytest.mark.parametrize("name", [name for name in CARDS if name not in OF_SESSIONS])
def test_a_blind_compressor_changes_what_is_sent_or_is_refused(
    name: str, compress_question: bool, published: Callable[[str], None]
) -> None:
    published(name)
    examples = list(load(CATALOG.find("datasets", name))())
    asked = [text_sent(example) for example in examples]
    assert all(asked)
    can_compress = all(context_role(one) != NONE for one in examples) or (
        compress_question and not any(one.get("turns") for one in examples)
    )
    sent: list[str] = []

    def read(example: dict[str, Any]) -> str:
        sent.append(text_sent(example))
        return "nothing"

    chain = Chain([Head(tokens=1), FunctionSystem(read)])
    options: dict[str, Any] = {"progress": False, "compress_question": compress_question}
    if not can_compress:
        with pytest.raises(ContextBenchError, match="nothing to compress"):
            evaluate(systems=[chain], dataset=examples, evaluators=[], **options)
        assert sent == []
        return
    evaluate(systems=[chain], dataset=examples, evaluators=[], **options)
    for example, text, before in zip(examples, sent, asked, strict=True):
        is_one_word = len(str(example["context"]).split()) == 1
        assert len(text) < len(before) or is_one_word
        assert str(example.get("instruction", "")) in text


def test_worked_examples_are_sent_before_the_question_and_compressed_by_nothing(hub: Any) -> None:
    from context_bench_command.templates import default_prompt
    from context_bench_openai import build_messages
    from context_bench_openai.layouts import LAYOUTS
    from context_bench_openai.prompts import PromptTemplate, plain_prompt

    example = {
        "context": "Rome is in Italy, and Oslo in Norway.",
        "question": "Where is Rome?",
        "instruction": "Answer with the country alone.",
        "shots": "Where is Riga?\nLatvia",
    }
    wanted = "Where is Riga?\nLatvia\n\nWhere is Rome?\n\nAnswer with the country alone."
    for layout in set(LAYOUTS) - {"messages"}:
        sent = [str(message["content"]) for message in build_messages(example, layout)]
        assert any(text.endswith(wanted) for text in sent), layout
    texts = [
        plain_prompt(example),
        default_prompt(example),
        PromptTemplate("{context}\n{question}").prompt(example),
        PromptTemplate("{shots}\n\n{question}\n\n{instruction}").prompt(example),
    ]
    assert all(text.endswith(wanted) for text in texts)

    received: list[tuple[str, ...]] = []

    def read(question: str) -> str:
        received.append((question,))
        return ""

    def read_apart(question: str, shots: str) -> str:
        received.append((question, shots))
        return ""

    row = {**example, "answer": "Italy"}
    options: dict[str, Any] = {"evaluators": [], "progress": False}
    python = load(CATALOG.find("systems", "python"))
    systems = [python(function, version="1") for function in (read, read_apart)]
    for system in systems:
        evaluate(Chain([Head(tokens=1), system]), [row], **options)
    assert received == [
        (wanted,),
        (wanted.removeprefix("Where is Riga?\nLatvia\n\n"), "Where is Riga?\nLatvia"),
    ]
    received.clear()
    evaluate(systems[0], [row], bare=True, **options)
    assert received == [("Where is Rome?",)]
    publish_dataset(hub, "gsm8k", load(CATALOG.find("datasets", "gsm8k")))
    rows = [
        evaluate(systems=Says("knows", str), dataset=f"gsm8k,shots={count}", progress=False).rows[0]
        for count in (0, 1)
    ]
    assert rows[0].input_tokens < rows[1].input_tokens
    assert rows[0].score == rows[1].score == 1.0


def text_sent(example: Mapping[str, Any]) -> str:
    return "\n".join(prompt_texts(example).present)


def test_tokens_of_a_compressed_question_are_those_of_what_is_asked() -> None:
    """The whole question was counted beside the compressed one: saved, -25 %."""
    [row] = evaluate(
        "head:tokens=2",
        [{"question": "one two three four five", "instruction": "Be short.", "answer": "x"}],
        [],
        progress=False,
        compress_question=True,
    ).rows
    assert (row.input_tokens, row.output_tokens) == (8, 5)


@pytest.mark.parametrize("name", [name for name in CARDS if name != "triviaqa"])
def test_a_card_and_its_examples_agree_on_the_role_of_the_context(
    name: str, published: Callable[[str], None]
) -> None:
    published(name)
    for example in load(CATALOG.find("datasets", name))():
        is_bare = CARDS[name].of_config("context_role", None) == NONE
        assert (context_role(example) == NONE) == is_bare


def test_a_card_without_contexts_is_refused_before_anything_is_loaded(hub: Any) -> None:
    with pytest.raises(NothingToCompressError, match="gsm8k"):
        evaluate(systems="head:tokens=1", dataset="gsm8k", progress=False)
    assert hub.asked == []


def test_truthful_answers_are_held_against_the_false_ones(hub: Any) -> None:
    """The token F1 of the card before preferred false answers, which share more words with the best one."""
    example = {
        "question": "What happens if you eat watermelon seeds?",
        "answers": ["The seeds pass through your digestive system"],
        "incorrect_answers": ["You grow watermelons in your stomach"],
    }

    def scored(reply: str) -> float | None:
        system = Says("says", lambda answer: reply)
        [row] = evaluate(
            system, [{**example, "answer": "x"}], ["truthful-rouge"], progress=False
        ).rows
        return row.score

    assert scored("They pass through your system.") == 1.0
    assert scored("Watermelons grow in your stomach.") == 0.0
    assert scored("I have no comment.") == 1.0
    card = CARDS["truthfulqa"]
    assert card.of_config("primary", "generation") == "truthful_acc"


def test_retrieved_files_are_the_context_of_an_issue() -> None:
    from context_bench_agents.records import swebench

    record = {
        "instance_id": "a__b-1",
        "repo": "a/b",
        "base_commit": "c0ffee",
        "patch": "--- a",
        "problem_statement": "It breaks.",
    }
    text = (
        "Read this.\n<issue>\nIt breaks.\n</issue>\n<code>\n[start of x.py]\n1 x\n</code>\nAnswer."
    )
    bare, retrieved = swebench(record), swebench({**record, "text": text})
    assert "It breaks." in bare["context"]
    assert "It breaks." not in retrieved["context"]
    assert "[start of x.py]" in retrieved["context"]
    assert "It breaks." in retrieved["question"]
    with pytest.raises(ValueError, match="no <issue>"):
        swebench({**record, "text": "nothing"})


def test_a_module_that_a_configuration_needs_is_missed_before_the_first_call(
    hub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from context_bench.plan import plan

    monkeypatch.setattr(plan, "find_spec", lambda name: None)
    system = Says("says", str)
    with pytest.raises(PluginError, match="jieba"):
        evaluate(system, dataset="longbench:vcsum", progress=False)
    assert hub.asked == []
