"""Two records of each benchmark in the columns that the hub has, made up by us, and how they are put on the fake hub."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from typing import Any

Record = dict[str, Any]


def _article(question: str, **more: Any) -> Record:
    return {
        "article": "A long story about a cat.",
        "question": question,
        "options": ["cat", "dog", "cow", "hen"],
        **more,
    }


def _scrolls(first: str, output: str) -> list[Record]:
    return [
        {
            "id": f"s{n}",
            "pid": f"s{n}_0",
            "input": f"{first} {n}?\n\nThe long text {n}.\n\nMore of it.",
            "output": output,
        }
        for n in (1, 2)
    ]


def _paper(number: int) -> Record:
    empty = {
        "unanswerable": False,
        "extractive_spans": [],
        "yes_no": None,
        "free_form_answer": "",
        "evidence": ["e"],
    }
    answers = [{**empty, "extractive_spans": ["two", "spans"]}, {**empty, "yes_no": True}]
    return {
        "id": f"10.{number}",
        "title": "A paper",
        "abstract": "Of things.",
        "full_text": {
            "section_name": ["Intro", "End"],
            "paragraphs": [["First.", "Second."], ["Third."]],
        },
        "qas": {
            "question": ["Which spans?", "Is it said?"],
            "question_id": ["a", "b"],
            "answers": [{"answer": answers}, {"answer": [{**empty, "unanswerable": True}]}],
        },
    }


def _issue(number: int) -> Record:
    return {
        "repo": "some/body",
        "instance_id": f"some__body-{number}",
        "base_commit": "abc",
        "patch": "--- a\n+++ b\n",
        "test_patch": "--- t\n+++ t\n",
        "problem_statement": "It breaks.",
        "hints_text": "",
        "FAIL_TO_PASS": '["test_a"]',
        "PASS_TO_PASS": "[]",
    }


_TOOL = {
    "name": "area",
    "description": "Area.",
    "parameters": {"type": "dict", "properties": {"base": {"type": "integer"}}},
}
_NEEDLE = {
    "id": "0401",
    "reasoning_type": "world_knowledge",
    "needle": "Actually, {CHAR} lives next to {1}.",
    "questions": {"onehop": "Which character has been to {2}?", "twohop": "Who knows {2}?"},
    "character_set": ["Yuki", "Stuart", "Katie"],
    "tests": {
        "T01": {"input_args": ["the Semper Opera", "Dresden"]},
        "T02": {"input_args": ["the Kiasma museum", "Helsinki"]},
    },
}

RECORDS: dict[str, list[Record]] = {
    "longmemeval": [
        {
            "question_id": f"q{n}",
            "question_type": "single-session-user",
            "question": "Where do I live?",
            "answer": "Turku",
            "question_date": "2023/05/30 (Tue) 10:00",
            "haystack_session_ids": [f"answer_{n}", "f1"],
            "haystack_dates": ["2023/05/20 (Sat) 09:00", "2023/05/01 (Mon) 09:00"],
            "haystack_sessions": [
                [{"role": "user", "content": "I moved to Turku.", "has_answer": True}],
                [{"role": "user", "content": "I like tea."}],
            ],
            "answer_session_ids": [f"answer_{n}"],
        }
        for n in (1, 2)
    ],
    "hotpotqa": [
        {
            "id": f"h{n}",
            "question": "Who?",
            "answer": "Ann",
            "type": "bridge",
            "level": "hard",
            "supporting_facts": {"title": ["A"], "sent_id": [0]},
            "context": {"title": ["A", "B"], "sentences": [["Ann is. ", "So."], ["Bob."]]},
        }
        for n in (1, 2)
    ],
    "natural-questions": [
        {"question": "who?", "answer": ["Ann", "Anna"]},
        {"question": "when?", "answer": ["1990"]},
    ],
    "musique": [
        {
            "id": f"2hop__{n}",
            "paragraphs": [
                {"idx": 0, "title": "A", "paragraph_text": "Ann.", "is_supporting": True}
            ],
            "question": "Who?",
            "question_decomposition": [],
            "answer": "Ann",
            "answer_aliases": ["Anna"],
            "answerable": True,
        }
        for n in (1, 2)
    ],
    "narrativeqa": [
        {
            "document": {
                "id": f"d{n}",
                "kind": "movie",
                "summary": {"text": "Ann leaves.", "title": "A"},
                "text": "...",
            },
            "question": {"text": "Who leaves?", "tokens": []},
            "answers": [{"text": "Ann", "tokens": []}, {"text": "Anna", "tokens": []}],
        }
        for n in (1, 2)
    ],
    "triviaqa": [
        {
            "question": "Who?",
            "question_id": f"tc_{n}",
            "question_source": "x",
            "entity_pages": {"title": ["A"], "wiki_context": ["Ann is."]},
            "search_results": {"title": ["B"], "search_context": ["Anna is."]},
            "answer": {
                "value": "Ann",
                "aliases": ["Anna", "Ann"],
                "normalized_aliases": ["ann", "anna"],
            },
        }
        for n in (1, 2)
    ],
    "frames": [
        {
            "Unnamed: 0": n,
            "Prompt": "Who?",
            "Answer": "Ann",
            "wiki_links": "['https://a', 'https://b']",
            "reasoning_types": "x",
        }
        for n in (1, 2)
    ],
    "quality": [_article("What?", gold_label=1), _article("And?", gold_label=4)],
    "qasper": [_paper(1), _paper(2)],
    "mmlu": [
        {"question": f"Q{n}", "subject": "law", "choices": ["a", "b", "c", "d"], "answer": n}
        for n in (1, 2)
    ],
    "mmlu-pro": [
        {
            "question_id": n,
            "question": "Q",
            "options": list("abcdefghij"),
            "answer": "J",
            "answer_index": 9,
            "category": "law",
        }
        for n in (1, 2)
    ],
    "arc-challenge": [
        {
            "id": "a",
            "question": "Q",
            "choices": {"text": ["w", "x", "y", "z"], "label": list("ABCD")},
            "answerKey": "C",
        },
        {
            "id": "b",
            "question": "Q",
            "choices": {"text": ["w", "x", "y", "z"], "label": list("1234")},
            "answerKey": "3",
        },
    ],
    "truthfulqa": [
        {
            "question": f"Q{n}?",
            "mc1_targets": {"choices": ["true", "false", "maybe"], "labels": [1, 0, 0]},
            "mc2_targets": {"choices": ["true", "yes", "false"], "labels": [1, 1, 0]},
        }
        for n in (1, 2)
    ],
    "gpqa": [
        {
            "Record ID": f"rec{n}",
            "Question": "Q",
            "Correct Answer": "right",
            **{f"Incorrect Answer {k}": f"wrong {k}" for k in (1, 2, 3)},
            "High-level domain": "Physics",
        }
        for n in range(8)
    ],
    "hellaswag": [
        {
            "ind": 1,
            "activity_label": "A",
            "ctx": "A man sits",
            "endings": ["up.", "down.", "on.", "in."],
            "label": "1",
        },
        {
            "ind": 2,
            "activity_label": "A",
            "ctx": "A man sits",
            "endings": ["up.", "down.", "on.", "in."],
            "label": "",
        },
    ],
    "winogrande": [
        {"sentence": "_ left.", "option1": "Ann", "option2": "Bob", "answer": "2"},
        {"sentence": "_ came.", "option1": "Ann", "option2": "Bob", "answer": ""},
    ],
    "gsm8k": [
        {"question": f"What is {n}+1000?", "answer": f"Add.\n#### 1,00{n}"} for n in (1, 2, 3, 4)
    ],
    "drop": [
        {
            "section_id": "s",
            "query_id": f"q{n}",
            "passage": "The Ravens beat the Colts 3 to 2.",
            "question": "Who played?",
            "answer": {
                "number": "",
                "date": {"day": "", "month": "", "year": ""},
                "spans": ["Ravens", "Colts"],
            },
            "validated_answers": {
                "number": ["", "2"],
                "date": [{"day": "", "month": "", "year": ""}] * 2,
                "spans": [["Colts", "Ravens"], []],
            },
        }
        for n in (1, 2)
    ],
    "math": [
        {
            "problem": "P",
            "level": "Level 3",
            "type": "Algebra",
            "solution": f"First $\\boxed{{1}}$, so $\\boxed{{\\frac{{{n}}}{{3}}}}$.",
        }
        for n in (1, 2)
    ],
    "mgsm": [
        {
            "question": "Q",
            "answer": f"Step by step: it is {n}.",
            "answer_number": n,
            "equation_solution": None,
        }
        for n in (1, 2)
    ],
    "bbh": [
        {"input": "not True is", "target": "False"},
        {"input": "not False is", "target": "True"},
    ],
    "humaneval": [
        {
            "task_id": f"HumanEval/{n}",
            "prompt": "def add(a, b):\n",
            "canonical_solution": "    return a + b\n",
            "test": "def check(f):\n    assert f(1, 2) == 3\n",
            "entry_point": "add",
        }
        for n in (0, 1)
    ],
    "mbpp": [
        {
            "source_file": "x",
            "task_id": n,
            "prompt": "Write a function to add.",
            "code": "def add(a, b):\n    return a + b",
            "test_imports": ["import math"],
            "test_list": ["assert add(1, 2) == 3"],
        }
        for n in (11, 12)
    ],
    "multi-news": [
        {"document": "First.\n|||||\nSecond.", "summary": "– Both."},
        {"document": "One. ||||| Two.", "summary": "Two."},
    ],
    "dialogsum": [
        {"id": f"test_{n}_{m}", "dialogue": f"#A#: Hi {n}.", "summary": said, "topic": "x"}
        for n in (0, 1)
        for m, said in ((1, "They greet."), (2, "Two people greet each other."))
    ],
    "qmsum": _scrolls("What was decided on", "A lot."),
    "summscreenfd": [
        {"id": f"e{n}", "pid": "x", "input": "INT. HOUSE", "output": "They meet."} for n in (1, 2)
    ],
    "meetingbank": [
        {"id": n, "uid": f"u{n}", "transcript": "Order.", "summary": "An ordinance."}
        for n in (1, 2)
    ],
    "govreport": [
        {"report": "A report.", "summary": "Its summary."},
        {"report": "Another.", "summary": "Its own."},
    ],
    "contract-nli": _scrolls("Shall the party keep it secret", "Not mentioned"),
    "scifact": [
        {
            "id": 1,
            "claim": "A heals B.",
            "evidence_doc_id": "7",
            "evidence_label": "CONTRADICT",
            "evidence_sentences": [0],
            "cited_doc_ids": [7],
        },
        {
            "id": 3,
            "claim": "C.",
            "evidence_doc_id": "",
            "evidence_label": "",
            "evidence_sentences": [],
            "cited_doc_ids": [7],
        },
    ],
    "ifeval": [
        {
            "key": n,
            "prompt": "Write without commas.",
            "instruction_id_list": ["punctuation:no_comma"],
            "kwargs": [{"num_words": None, "relation": None}],
        }
        for n in (1, 2)
    ],
    "alpaca-eval": [
        {"instruction": "Hi?", "output": "Hi.", "generator": "text_davinci_003", "dataset": "x"}
    ]
    * 2,
    "mt-bench": [
        {
            "prompt_id": n,
            "category": "math",
            "prompt": ["What is 1+1?", "And doubled?"],
            "reference": ["2", "4"],
        }
        for n in (81, 82)
    ],
    "longbench": [
        {
            "input": "Who?",
            "context": "Ann is here.",
            "answers": ["Ann", "Anna"],
            "length": 3,
            "dataset": "hotpotqa",
            "language": "en",
            "all_classes": None,
            "_id": f"l{n}",
        }
        for n in (1, 2)
    ],
    "longbench-v2": [
        {
            "_id": f"v{n}",
            "domain": "d",
            "difficulty": "easy",
            "length": "short",
            "question": "Q",
            **{f"choice_{letter}": f"option {letter}" for letter in "ABCD"},
            "answer": "B",
            "context": "Long.",
        }
        for n in (1, 2)
    ],
    "infinitebench": [
        {
            "id": n,
            "context": "The pass key is 123.",
            "input": "What is the pass key?",
            "answer": ["123"],
            "options": [],
        }
        for n in (0, 1)
    ],
    "nolima": [_NEEDLE],
    "bfcl": [
        {
            "id": f"live_simple_{n}",
            "question": [[{"role": "user", "content": "Area?"}]],
            "function": [_TOOL],
        }
        for n in (0, 1)
    ],
    "apigen": [
        {
            "id": n,
            "query": "Area of 3?",
            "answers": json.dumps([{"name": "area", "arguments": {"base": 3, "deep": {"a": [1]}}}]),
            "tools": json.dumps(
                [
                    {
                        "name": "area",
                        "parameters": {"base": {"type": "int"}, "deep": {"type": "Dict"}},
                    }
                ]
            ),
        }
        for n in (0, 1)
    ],
    **{name: [_issue(1), _issue(2)] for name in ("swebench", "swebench-verified", "swebench-lite")},
}
"""Records by dataset; of one that has several configurations, those of the first that is read."""

TABLES: dict[str, dict[str, list[Record]]] = {
    "scifact": {
        "corpus": [
            {
                "doc_id": 7,
                "title": "On B",
                "abstract": ["A does not heal B.", "It harms."],
                "structured": False,
            }
        ]
    },
    "bfcl": {
        "answers": [
            {"id": f"live_simple_{n}", "ground_truth": [{"area": {"base": [10]}}]} for n in (0, 1)
        ]
    },
    "nolima": {"book": [{"text": "line one\nline two\nline three\nline four"}]},
}
"""Further records that examples are made with."""


def publish_dataset(
    hub: Any, name: str, loader: Any, config: str | None = None, split: str | None = None
) -> None:
    """Put the records of a dataset, of its tables and of its worked examples where its loader reads them."""
    wanted = loader.wanted(config, split)
    for part in wanted.parts or (wanted,):
        rows = _of_category(RECORDS[name], part.config) if name == "bfcl" else RECORDS[name]
        if name == "bfcl" and not part.tables:  # older categories hold the calls themselves
            rows = [{**row, "ground_truth": ["area(base=10)"]} for row in rows]
        publish(hub, part, rows)
        if part.shots_split:
            publish(hub, part.changed(split=part.shots_split), rows)
        for table in part.tables:
            found = TABLES[name][table]
            publish(
                hub,
                part.of_table(table),
                _of_category(found, part.config) if name == "bfcl" else found,
            )


def _of_category(rows: Sequence[Record], category: str | None) -> list[Record]:
    """Return BFCL's records with the ids that they have in a category."""
    return [{**row, "id": row["id"].replace("live_simple", str(category))} for row in rows]


def publish(hub: Any, wanted: Any, rows: Sequence[Record]) -> None:
    """Put rows where a dataset is read from, in the way in which its repository is laid out."""
    path = wanted.path()
    branch = wanted.revision
    files = dict(hub.repositories.get(wanted.source, {}).get(branch, {}))
    if path is None:
        config = wanted.config or "default"
        files[f"{config}/{wanted.split}-00000.parquet"] = parquet(rows)
        files["README.md"] = _readme([name for name in files if name.endswith(".parquet")]).encode()
    elif "::" in path:
        inner, _, outer = path.rpartition("::")
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(inner.removeprefix("zip://"), lines(rows))
        files[outer] = buffer.getvalue()
    else:
        files[path.replace("*", "0000")] = _WRITERS.get(
            wanted.format or path.rpartition(".")[2], lines
        )(rows)
    hub.put(wanted.source, files, branch)


def parquet(rows: Sequence[Record]) -> bytes:
    import pyarrow as arrow
    from pyarrow import parquet as writer

    buffer = io.BytesIO()
    writer.write_table(arrow.Table.from_pylist(list(rows)), buffer)
    return buffer.getvalue()


def lines(rows: Sequence[Record]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _readme(paths: Sequence[str]) -> str:
    found: dict[str, list[str]] = {}
    for path in sorted(paths):
        config, _, file = path.partition("/")
        found.setdefault(config, []).append(
            f"  - {{split: {file.partition('-')[0]}, path: '{path}'}}"
        )
    parts = [
        f"- config_name: {config}\n  data_files:\n" + "\n".join(splits)
        for config, splits in found.items()
    ]
    return "---\nconfigs:\n" + "\n".join(parts) + "\n---\n"


_WRITERS = {
    "parquet": parquet,
    "array": lambda rows: json.dumps(list(rows)).encode(),
    "text": lambda rows: rows[0]["text"].encode(),
}
