from __future__ import annotations

import json
import os
import pickle
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import context_bench_replay.recorded_file as recorded_file
from context_bench_replay import Replay


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


RECORDED = lines(
    {"id": "a", "response": "A", "answer": "gold"},
    {"id": 7, "response": "seven", "usage": {"total_tokens": 3}},
    {"id": "c", "response": ""},
)


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        pytest.param("r.jsonl", RECORDED, {}, id="jsonl"),
        pytest.param("r.jsonl.gz", RECORDED, {}, id="compressed"),
        pytest.param(
            "r.json",
            json.dumps([json.loads(line) for line in RECORDED.splitlines()]),
            {},
            id="json",
        ),
        pytest.param(
            "r.json",
            '{"a": {"response": "A"}, "7": {"response": "seven"}}',
            {"index": "id"},
            id="by key",
        ),
        pytest.param(
            "r.json", '{"x": {"y": [{"id": "a", "response": "A"}]}}', {"key": "x.y"}, id="deeper"
        ),
        pytest.param("r.csv", "id,response\na,A\n7,seven\n", {}, id="csv"),
        pytest.param(
            "r.csv",
            "a;A\n7;seven\n",
            {"delimiter": ";", "columns": ["id", "response"]},
            id="other csv",
        ),
        pytest.param("r.tsv", "id\tresponse\na\tA\n7\tseven\n", {"quote": "none"}, id="tsv"),
        pytest.param(
            "r.txt", RECORDED, {"format": "jsonl", "encoding": "utf-8"}, id="format given"
        ),
    ],
)
def test_responses_are_joined_by_id(write, name, text, options):
    system = Replay(path=write(name, text), **options)
    assert system.process({"id": "a", "question": "Q"}) == {"response": "A"}
    if "7" in text:
        assert (
            system.process({"id": "7"})["response"]
            == system.process({"id": 7})["response"]
            == "seven"
        )


def test_usage_travels_and_gold_does_not(write):
    system = Replay(path=write("r.jsonl", RECORDED))
    assert system.process({"id": 7}) == {"response": "seven", "usage": {"total_tokens": 3}}
    assert system.process({"id": "a"}) == {"response": "A"}
    assert system.process({"id": "c"}) == {"response": ""}


def test_examples_may_be_joined_by_another_column(write):
    name = write("r.jsonl", lines({"meta": {"q": "Who?"}, "response": "R"}))
    assert Replay(path=name, id_field="meta.q", key_field="question").process(
        {"question": "Who?"}
    ) == {"response": "R"}
    assert Replay(path=name, id_field="meta.q", key_field="x.0").process({"x": ["Who?"]}) == {
        "response": "R"
    }


BATCH = [
    {
        "id": "batch_req_1",
        "custom_id": "request-1",
        "response": {
            "status_code": 200,
            "request_id": "r1",
            "body": {
                "id": "chatcmpl-1",
                "model": "m",
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": "Hello."},
                        "finish_reason": "stop",
                    }
                ],
                "usage": {"prompt_tokens": 22, "completion_tokens": 2, "total_tokens": 24},
            },
        },
        "error": None,
    },
    {
        "id": "batch_req_2",
        "custom_id": "request-2",
        "response": None,
        "error": {"code": "batch_expired", "message": "The window of this request has passed."},
    },
    {
        "id": "batch_req_3",
        "custom_id": "request-3",
        "response": {
            "status_code": 400,
            "body": {"error": {"message": "The context is too long."}},
        },
        "error": None,
    },
    {
        "id": "batch_req_4",
        "custom_id": "request-4",
        "response": {
            "status_code": 200,
            "body": {"choices": [{"message": {"content": None, "tool_calls": [{}]}}]},
        },
        "error": None,
    },
]
CONTENT = "response.body.choices.0.message.content"


def test_the_output_of_an_openai_batch_is_read(write):
    system = Replay(
        CONTENT,
        write("batch_output.jsonl", lines(*BATCH)),
        "custom_id",
        also=["model=response.body.model"],
    )
    assert system.process({"id": "request-1"}) == {
        "response": "Hello.",
        "usage": {"prompt_tokens": 22, "completion_tokens": 2, "total_tokens": 24},
        "model": "m",
    }


@pytest.mark.parametrize(
    ("identity", "message"),
    [
        (
            "request-2",
            "batch_output.jsonl, line 2, id 'request-2': No response is recorded: there is no 'body' in",
        ),
        ("request-2", 'The record\'s error says: {"code": "batch_expired", "message": "The window'),
        ("request-3", 'The record\'s error says: {"message": "The context is too long."}'),
        ("request-4", "is null. Was it a refusal, a tool call or a failed request?"),
    ],
)
def test_a_request_of_a_batch_that_failed_fails_its_own_row_only(write, identity, message):
    system = Replay(CONTENT, write("batch_output.jsonl", lines(*BATCH)), "custom_id")
    with pytest.raises(ValueError, match=re.escape(message)):
        system.process({"id": identity})
    assert system.process({"id": "request-1"})["response"] == "Hello."


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (
            {"id": "A"},
            "No response is recorded under the id 'A': r.jsonl has 3 ids in 'id'. They look like 'a', '7', 'c'.",
        ),
        ({"id": "77"}, "r.jsonl has 3 ids in 'id'. The nearest is '7'."),
        (
            {"question": "Q"},
            "Responses are joined by id, but in the example there is no 'id'. There is: question. Pass",
        ),
        ({"id": None}, "The example's id must be text or a whole number and is null."),
        ({"id": True}, "and is true."),
        ({"id": 7.0}, "and is the float '7.0'."),
        ({"id": ["a"]}, "and is an array of 1."),
    ],
)
def test_an_example_without_a_recorded_response_says_what_there_is(write, example, message):
    with pytest.raises(LookupError, match=re.escape(message)):
        Replay(path=write("r.jsonl", RECORDED)).process(example)


def test_repeated_records_that_agree_are_one(write):
    record = {"id": "a", "response": "A", "usage": {"n": 1}, "s": 1}
    name = write(
        "r.jsonl",
        lines(record, record | {"usage": {"n": 2}, "s": 2, "other": 3}, record | {"id": "b"}),
    )
    assert Replay(path=name, latency_field="s").process({"id": "a"})["latency"] == 1


@pytest.mark.parametrize(
    ("records", "options"),
    [
        pytest.param(
            [{"id": 1, "response": "A"}, {"id": "1", "response": "B"}], {}, id="other text"
        ),
        pytest.param(
            [{"id": "1", "response": "A"}, {"id": "1", "response": None}], {}, id="a failure"
        ),
        pytest.param(
            [{"id": 1, "response": "A", "c": 1}, {"id": 1, "response": "A", "c": 2}],
            {"also": ["c"]},
            id="extra",
        ),
    ],
)
def test_repeated_ids_that_disagree_are_an_error_naming_both(write, records, options):
    system = Replay(path=write("r.jsonl", lines(*records)), **options)
    with pytest.raises(
        ValueError,
        match=r"^r\.jsonl: line 1 and line 2 record different responses under the id '1'\. .*`sample`",
    ):
        system.process({"id": "1"})


def test_several_responses_of_an_id_are_chosen_by_their_number(write):
    name = write(
        "r.jsonl",
        lines(
            *({"id": i, "response": f"{i}{s}"} for s in "xyz" for i in "ab"),
            {"id": "b", "response": "w"},
        ),
    )
    assert [
        Replay(path=name, sample=sample).process({"id": "b"})["response"] for sample in range(4)
    ] == [
        "bx",
        "by",
        "bz",
        "w",
    ]
    with pytest.raises(
        LookupError,
        match=r"r\.jsonl has 3 under the id 'a': there is no sample 3, counted from 0\.",
    ):
        Replay(path=name, sample=3).process({"id": "a"})
    with pytest.raises(ValueError, match="sample is -1"):
        Replay(path=name, sample=-1)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        pytest.param("broken\n", {}, "r.jsonl, line 1, column 1: Expecting value", id="malformed"),
        pytest.param(
            lines({"response": "A"}),
            {},
            "r.jsonl, line 1: the record has no id: there is no 'id'. There is: r",
            id="no id",
        ),
        pytest.param(
            lines({"id": None, "response": "A"}),
            {},
            "an id must be text or a whole number, and 'id' is null",
            id="null",
        ),
        pytest.param(
            lines({"id": 1.5, "response": "A"}), {}, "and 'id' is the float '1.5'", id="fraction"
        ),
        pytest.param(
            lines({"id": 1, "pred": "A"}),
            {},
            "r.jsonl: no record has a response. line 1: No response is",
            id="field",
        ),
        pytest.param(
            "", {}, "r.jsonl: no record has a response. The file has no records.", id="empty"
        ),
        pytest.param(
            RECORDED,
            {"also": ["contxt"]},
            "r.jsonl: no record has 'contxt'. Mend the option",
            id="also",
        ),
        pytest.param(RECORDED, {"usage_field": "u"}, "r.jsonl: no record has 'u'.", id="usage"),
        pytest.param(
            b"\xff",
            {},
            "r.jsonl, line 1: byte 0xff at offset 0 is not utf-8 text (invalid start byte)",
            id="encoding",
        ),
    ],
)
def test_a_broken_file_is_found_with_the_fingerprint_and_with_every_row(
    write, text, options, message
):
    system = Replay(path=write("r.jsonl", text), **options)
    for attempt in (
        system.fingerprint,
        lambda: system.process({"id": "a"}),
        lambda: system.process({"id": "b"}),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            attempt()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"path": "recrded.jsonl"},
            FileNotFoundError,
            "There is no file recrded.jsonl. Did you mean recorded.jsonl?",
        ),
        ({"path": "."}, IsADirectoryError, ". is a folder."),
        ({"path": "recorded.jsonl", "encoding": "utf-9"}, ValueError, "No text encoding is called"),
        (
            {"path": "recorded.jsonl", "delimiter": ","},
            ValueError,
            "`delimiter` is an option of csv and tsv files",
        ),
        ({"path": "recorded.jsonl", "format": "xml"}, ValueError, "No format is called 'xml'"),
    ],
)
def test_a_file_that_cannot_be_is_found_at_once(write, options, error, message):
    write("recorded.jsonl", RECORDED)
    with pytest.raises(error, match=re.escape(message)):
        Replay(**options)


def test_the_fingerprint_follows_the_contents_and_not_the_name(write):
    one = Replay(path=write("a.jsonl", RECORDED)).fingerprint()
    assert Replay(path=write("b.jsonl", RECORDED)).fingerprint() == one
    assert Replay(path=write("b.jsonl", RECORDED.replace("seven", "eight"))).fingerprint() != one
    assert json.loads(json.dumps(one)) == one


def test_the_fingerprint_has_every_parameter_that_can_change_an_output(write):
    name = write("r.jsonl", lines({"id": "a", "key": "b", "response": "A", "pred": "B"}))
    changes = [
        {},
        {"field": "pred"},
        {"id_field": "key"},
        {"key_field": "key"},
        {"sample": 0},
        {"encoding": "latin-1"},
    ]
    prints = [repr(Replay(path=name, **change).fingerprint()) for change in changes]
    assert len(set(prints)) == len(prints)


def test_a_file_is_read_once_and_not_before_it_is_needed(write, monkeypatch):
    calls = []
    monkeypatch.setattr(
        recorded_file,
        "read_contents",
        lambda *args, read=recorded_file.read_contents: calls.append(1) or read(*args),
    )
    system = Replay(path=write("r.jsonl", RECORDED))
    assert not calls
    system.fingerprint()
    os.unlink("r.jsonl")
    assert system.process({"id": "a"}) == {"response": "A"}
    assert len(calls) == 1
    broken = Replay(path=write("broken.jsonl", "x"))
    for _ in range(3):
        with pytest.raises(ValueError, match="Expecting value"):
            broken.process({"id": "a"})
    assert len(calls) == 2


def test_many_threads_read_a_file_once(write, monkeypatch):
    calls = []
    monkeypatch.setattr(
        recorded_file,
        "read_contents",
        lambda *args, read=recorded_file.read_contents: calls.append(1) or read(*args),
    )
    system = Replay(
        path=write("r.jsonl", lines(*({"id": n, "response": str(n)} for n in range(2000))))
    )
    barrier = threading.Barrier(8)

    def ask(start: int) -> list[str]:
        barrier.wait()
        return [system.process({"id": n})["response"] for n in range(start, 2000, 8)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    assert [answer for start in answers for answer in start] == [
        str(n) for s in range(8) for n in range(s, 2000, 8)
    ]
    assert len(calls) == 1


def test_a_file_that_changes_while_it_is_read_is_an_error(write, monkeypatch):
    name = write("r.jsonl", RECORDED)
    contents = recorded_file.read_contents.__globals__
    digest = contents["_digest"]
    monkeypatch.setitem(
        contents, "_digest", lambda path: (digest(path), Path(name).write_text(RECORDED + "\n"))[0]
    )
    with pytest.raises(ValueError, match=r"r\.jsonl changed while it was read\."):
        Replay(path=name).process({"id": "a"})


def test_an_output_belongs_to_whoever_asked_for_it(write):
    system = Replay(path=write("r.jsonl", RECORDED))
    system.process({"id": 7})["usage"]["total_tokens"] = 99
    assert system.process({"id": 7})["usage"] == {"total_tokens": 3}


def test_a_system_can_be_sent_to_another_process(write):
    system = Replay(path=write("r.jsonl", RECORDED), name="mine")
    system.fingerprint()
    copied = pickle.loads(pickle.dumps(system))
    assert copied.process({"id": "a"}) == {"response": "A"}
    assert (copied.name, copied.fingerprint()) == ("mine", system.fingerprint())
    assert len(pickle.dumps(system)) < 1_000


def test_names_tell_files_apart(write):
    write("gpt.jsonl", RECORDED)
    assert (
        Replay(path="gpt.jsonl").name
        == Replay(path=Path("gpt.jsonl").absolute()).name
        == "replay:gpt.jsonl:response"
    )


def test_near_ids_are_looked_for_in_bounded_time(write):
    system = Replay(
        path=write("r.jsonl", lines(*({"id": f"id-{n}", "response": "x"} for n in range(20_000))))
    )
    with pytest.raises(LookupError, match=r"20000 ids in 'id'. The nearest is 'id-"):
        system.process({"id": "id-20001"})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_refused_as_it_can_be_read_once_only(write):
    write("unused.jsonl", "")
    os.mkfifo("pipe")
    with pytest.raises(ValueError, match="pipe must be a regular file"):
        Replay(path="pipe", format="jsonl")
