"""From the records of agent benchmarks to examples; every function is pure, and the user's request is in every one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from context_bench_agents.bfcl import accepted, expected_calls, right_reply
from context_bench_huggingface import FIRST, Row
from context_bench_huggingface.columns import identity_of, text_in, text_of, texts_of

Record = Mapping[str, Any]
Example = dict[str, Any]
_ASK = "Answer with the calls alone, written in {}: [name(argument=value, ...), ...]. Answer with no call if none fits."
_LANGUAGES = {"java": "Java", "javascript": "JavaScript"}


def bfcl(record: Record, row: Row = FIRST) -> Example:
    """Return a BFCL example: the functions as context, the first turn of the user as question.

    The expected calls stand in a file of their own (the table ``answers``), in older categories in the record itself. Where no
    function fits (irrelevance), none is expected; where only relevance counts (live_relevance), any call is right.
    """
    messages = _first_turn(record["question"])
    system = "\n".join(each["content"] for each in messages if each["role"] == "system")
    tools = record["function"] if isinstance(record["function"], list) else [record["function"]]
    answers = row.tables.get("answers", {}).get(record["id"], record)
    language = next(
        (name for name in _LANGUAGES if re.match(rf"(?:simple_)?{name}_", record["id"])), "python"
    )
    truth = [] if "irrelevance" in record["id"] else answers.get("ground_truth")
    return {
        "id": record["id"],
        **_asked(
            "\n".join(each["content"] for each in messages if each["role"] != "system"),
            tools,
            system,
            language,
        ),
        **({"language": language} if language in _LANGUAGES else {}),
        **(
            {"relevance": True}
            if record["id"].startswith("live_relevance")
            else _gold(truth, tools, language)
        ),
    }


def bfcl_with_gold(record: Record, row: Row = FIRST) -> Example | None:
    """Return a BFCL example; None where nothing says which calls are expected, so that no answer could be scored."""
    example = bfcl(record, row)
    return example if {"ground_truth", "relevance"} & example.keys() else None


def apigen(record: Record, row: Row = FIRST) -> Example:
    """Return an APIGen example: the tools as context, the query as question."""
    tools = json.loads(record["tools"]) if isinstance(record["tools"], str) else record["tools"]
    calls = (
        json.loads(record["answers"]) if isinstance(record["answers"], str) else record["answers"]
    )
    expected = [
        {call["name"]: {key: [accepted(value)] for key, value in call["arguments"].items()}}
        for call in calls
    ]
    return {
        "id": identity_of(record, row, "id"),
        **_asked(text_in(record, "query"), tools),
        **_gold(expected, tools),
    }


def swebench(record: Record, row: Row = FIRST) -> Example:
    """Return a SWE-bench example: repository and issue as context; the reference patch is gold.

    The retrieval editions of the authors have a prompt in ``text``: the issue is the question there, and the files that were
    retrieved are the context.
    """
    patch = text_of(record["patch"], "patch")
    return {
        "id": identity_of(record, row, "instance_id"),
        **_issue(record),
        "instruction": "Answer with a patch in unified diff format.",
        **({"answer": patch} if patch and patch.strip() else {}),
        "repo": record["repo"],
        "base_commit": record["base_commit"],
        "cluster": record["repo"],
        "test_patch": record.get("test_patch"),
        "FAIL_TO_PASS": _names(record, "FAIL_TO_PASS"),
        "PASS_TO_PASS": _names(record, "PASS_TO_PASS"),
    }


def _issue(record: Record) -> Example:
    """Return context and question of an issue, with the files of the record's own prompt where it has one."""
    heading = f"Repository: {text_in(record, 'repo')}\nCommit: {text_in(record, 'base_commit')}\n\n"
    prompt = text_of(record.get("text"), "text")
    if prompt is None:
        issue = text_in(record, "problem_statement", blank=True)
        return {
            "context": heading + issue,
            "question": "Which change of the repository resolves this issue?",
        }
    parts = {
        name: re.search(rf"<{name}>(.*?)</{name}>", prompt, re.DOTALL) for name in ("issue", "code")
    }
    if parts["issue"] is None or parts["code"] is None:
        raise ValueError("text has no <issue> or no <code>")
    asked = f"Which change resolves this issue?\n\n{parts['issue'][1].strip()}"
    return {"context": heading + parts["code"][1].strip(), "question": asked}


def _first_turn(question: Any) -> list[Record]:
    """Return the messages of the first turn: of a list of turns, of a list of messages, or of the text that older files have."""
    turn = question if isinstance(question, list | tuple) else [question]
    if turn and isinstance(turn[0], list | tuple):
        turn = turn[0]
    messages = [
        each if isinstance(each, Mapping) else {"role": "user", "content": each} for each in turn
    ]
    for message in messages:
        text_in(message, "content", blank=message["role"] != "user")
    return messages


def _asked(request: str, tools: Any, system: str = "", language: str = "python") -> Example:
    if not isinstance(tools, list | tuple) or not all(isinstance(tool, Mapping) for tool in tools):
        raise TypeError(f"the functions are no list of objects: {tools!s:.60}")
    if not request.strip():
        raise ValueError("the request of the user is blank")
    shown = json.dumps(tools, ensure_ascii=False, indent=1)
    ask = _ASK.format(_LANGUAGES.get(language, "Python"))
    context = "\n\n".join(filter(None, [system, f"You can call these functions:\n{shown}"]))
    return {"context": context, "question": request, "instruction": ask, "tools": tools}


def _gold(truth: Any, tools: Any, language: str = "python") -> Example:
    expected = expected_calls(truth)
    if expected is None:
        return {} if truth is None else {"expected_result": truth}
    answer = right_reply(expected, tools, language)
    return {**({} if answer is None else {"answer": answer}), "ground_truth": list(truth)}


def _names(record: Record, name: str) -> list[str]:
    tests = record.get(name)
    return texts_of(json.loads(tests or "[]") if isinstance(tests, str) else tests, name)
