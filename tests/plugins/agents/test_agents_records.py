"""From records to examples, and what they are scored by."""

from __future__ import annotations

import json

import pytest

from context_bench_agents import BFCLMatch, records
from context_bench_huggingface import Row

TOOL = {"name": "area", "parameters": {"type": "dict", "properties": {"base": {"type": "integer"}}}}
TRUTH = [{"geo.area": {"base": [10], "unit": ["cm", ""], "deep": ["", {"a": [1, 2]}]}}]


@pytest.mark.parametrize(
    ("response", "right"),
    [
        ("[geo.area(base=10)]", 1.0),
        ("geo.area(base=10, unit='CM')", 1.0),
        ("```python\n[geo.area(base=10)]\n```", 1.0),
        ("Call ```geo.area(base=10)``` then.", 1.0),
        ("```tool_code\ngeo.area(base=10)\n```", 1.0),
        ('```json{"name": "geo.area", "arguments": {"base": 10}}```', 1.0),
        ("``` geo.area(base=10) ``` or ```geo.area(base=11)", 1.0),
        ("```" + " " * 99_000, 0.0),
        ("```" + "a" * 99_000, 0.0),
        ('[{"name": "geo.area", "arguments": {"base": 10}}]', 1.0),
        ('{"geo.area": {"base": 10, "deep": {"a": 2}}}', 1.0),
        ("[geo_area(base=10)]", 1.0),
        ("[geo.area(base=11)]", 0.0),
        ("[geo.area(base='10')]", 0.0),
        ("[geo.area(unit='cm')]", 0.0),
        ("[geo.area(base=10, more=1)]", 0.0),
        ("[geo.area(base=10), geo.area(base=10)]", 0.0),
        ("[area(base=10)]", 0.0),
        ("`geo.area(base=10)`", 1.0),
        ("<think>[geo.area(base=11)] is [wrong].</think>[geo.area(base=10)]", 1.0),
        ('[{"geo.area": "{\\"base\\": 10}"}]', 1.0),
        (
            '<tool_call>\n{"name": "geo.area", "arguments": {"base": 10, "deep": {"a": 1}}}\n</tool_call>',
            1.0,
        ),
        (
            '<tool_call>{"name": "geo.area", "arguments": {"base": 10}}</tool_call>\n<tool_call>{"name": "f"}</tool_call>',
            0.0,
        ),
        ("<TOOLCALL>[geo.area(base=10)]</TOOLCALL>", 1.0),
        ("<tool_call>" * 9_000, 0.0),
        ("[geo.area(base=" + "1 + " * 2_000 + "1)]", 0.0),
        ("[geo.area(base=9 ** 9 ** 9)]", 0.0),
        ("I cannot do that.", 0.0),
        ("", 0.0),
    ],
)
def test_exactly_the_expected_calls_are_right(response, right):
    assert BFCLMatch().score({"ground_truth": TRUTH}, {"response": response}) == {"bfcl_ast": right}


FUNCTION = {
    "name": "geo.area",
    "parameters": {
        "type": "dict",
        "properties": {
            "base": {"type": "integer"},
            "height": {"type": "float"},
            "unit": {"type": "string"},
            "flat": {"type": "boolean"},
            "sides": {"type": "array", "items": {"type": "float"}},
            "corner": {"type": "tuple", "items": {"type": "integer"}},
            "names": {"type": "array", "items": {"type": "string"}},
            "style": {"type": "dict"},
            "steps": {"type": "array", "items": {"type": "dict"}},
            "other": {"type": "any"},
        },
        "required": ["base"],
    },
}
ACCEPTED = {
    "base": [10],
    "height": [5, 2.5, ""],
    "unit": ["New York, NY", ""],
    "flat": [True, ""],
    "sides": [[1.5, 2.5], ""],
    "corner": [[1, 2], ""],
    "names": [["A b"], ""],
    "style": [{"size": ["Large", 2], "deep": ["", 1]}, ""],
    "steps": [[{"n": [1]}, {"n": [2]}], ""],
    "other": [5, ""],
    "unknown": [1, ""],
}


@pytest.mark.parametrize(
    ("arguments", "right"),
    [
        ("base=10", 1.0),
        ("base=10.0", 0.0),
        ("base='10'", 0.0),
        ("base=True", 0.0),
        ("base=5*2", 1.0),
        ("base=ten", 0.0),
        ("7, base=10", 1.0),
        ("base=10, **more", 0.0),
        ("base=10, unknown=1", 0.0),
        ("base=10, height=5", 1.0),
        ("base=10, height=5.0", 1.0),
        ("base=10, height='5'", 0.0),
        ("base=10, height=1/0", 0.0),
        ("base=10, unit='new york ny'", 1.0),
        ("base=10, unit=NewYorkNY", 1.0),
        ("base=10, unit=place.NewYorkNY", 0.0),
        ("base=10, unit='new ' + 'york ny'", 1.0),
        ("base=10, flat=True", 1.0),
        ("base=10, flat=true", 0.0),
        ("base=10, flat=1", 0.0),
        ("base=10, sides=[1.5, 2.5]", 1.0),
        ("base=10, sides=(1.5, 2.5)", 0.0),
        ("base=10, sides=[]", 1.0),
        ("base=10, sides=[1.5, 3]", 0.0),
        ("base=10, corner=(1, 2)", 1.0),
        ("base=10, corner=[1, 2]", 1.0),
        ("base=10, corner=[1.0, 2.0]", 1.0),
        ("base=10, names=['a B']", 1.0),
        ("base=10, names='A b'", 0.0),
        ("base=10, style={'size': 'large'}", 1.0),
        ("base=10, style={'size': 2, 'deep': 1}", 1.0),
        ("base=10, style={'deep': 1}", 0.0),
        ("base=10, style={'size': 2, 'more': 1}", 0.0),
        ("base=10, style={}", 0.0),
        ("base=10, steps=[{'n': 1}, {'n': 2}]", 1.0),
        ("base=10, steps=[{'n': 2}, {'n': 1}]", 0.0),
        ("base=10, other=5", 1.0),
        ("base=10, other='5'", 0.0),
        ("height=5", 0.0),
    ],
)
def test_arguments_have_the_types_that_their_function_describes(arguments, right):
    """Each verdict is that of `ast_checker` of bfcl-eval 2026.3.23, which reads the calls with `default_decode_ast_prompting`."""
    example = {"ground_truth": [{"geo.area": ACCEPTED}], "tools": [FUNCTION]}
    assert BFCLMatch().score(example, {"response": f"[geo.area({arguments})]"}) == {
        "bfcl_ast": right
    }


@pytest.mark.parametrize(
    ("response", "plain", "as_bfcl"),
    [
        ("[geo.area(base=10)]", 1.0, 1.0),
        ("geo.area(base=10)", 1.0, 1.0),
        ("`geo.area(base=10)`\n", 1.0, 1.0),
        ("```\n[geo.area(base=10)]\n```", 1.0, 1.0),
        ("```python\n[geo.area(base=10)]\n```", 1.0, 0.0),
        ("```json\n[geo.area(base=10)]\n```", 1.0, 0.0),
        ("Here it is: [geo.area(base=10)]", 1.0, 0.0),
        ('[{"name": "geo.area", "arguments": {"base": 10}}]', 1.0, 0.0),
        ("<tool_call>geo.area(base=10)</tool_call>", 1.0, 0.0),
        ("[geo_area(base=10)]", 1.0, 0.0),
        ("[geo.area(base=10)] # done", 1.0, 1.0),
        ("[geo.area(base=1 + 9)]", 1.0, 1.0),
    ],
)
def test_parity_reads_of_a_text_what_bfcl_reads_of_prompted_models(response, plain, as_bfcl):
    """The last column is what `default_decode_ast_prompting` and `ast_checker` of bfcl-eval 2026.3.23 say."""
    example = {"ground_truth": [{"geo.area": ACCEPTED}], "tools": [FUNCTION]}
    nothing = {"ground_truth": [], "tools": [FUNCTION]}
    official = BFCLMatch(parity="bfcl")
    assert BFCLMatch().score(example, {"response": response}) == {"bfcl_ast": plain}
    assert official.score(example, {"response": response}) == {"bfcl_ast": as_bfcl}
    reads_it = as_bfcl == 1.0 or response == "[geo_area(base=10)]"
    assert official.score(nothing, {"response": response}) == {"bfcl_ast": float(not reads_it)}
    assert official.fingerprint() == {"parity": "bfcl"}
    assert BFCLMatch().fingerprint() == {}


def test_an_unknown_parity_is_refused():
    with pytest.raises(ValueError, match="parity of BFCLMatch"):
        BFCLMatch(parity="v3")


SCRIPT = {
    "name": "a.run",
    "parameters": {
        "type": "dict",
        "properties": {
            "text": {"type": "String"},
            "any": {"type": "any"},
            "real": {"type": "float"},
            "flag": {"type": "Boolean"},
            "big": {"type": "Bigint"},
            "names": {"type": "array", "items": {"type": "String"}},
            "pairs": {"type": "array", "items": {"type": "integer"}},
            "table": {"type": "dict"},
        },
        "required": [],
    },
}
SCRIPT_ACCEPTED = {
    "text": ["x, y"],
    "any": ["node"],
    "real": [4.0],
    "flag": [True],
    "big": [7],
    "names": [["a", "b"]],
    "pairs": [[[1, 2], [3]]],
    "table": [{"key": ["v"], "list": [["a"]]}],
}
JAVA = {
    "name": "a.run",
    "parameters": {
        "type": "dict",
        "properties": {
            "text": {"type": "String"},
            "any": {"type": "any"},
            "whole": {"type": "integer"},
            "count": {"type": "integer"},
            "wide": {"type": "long"},
            "real": {"type": "float"},
            "half": {"type": "double"},
            "flag": {"type": "boolean"},
            "letter": {"type": "char"},
            "numbers": {"type": "Array", "items": {"type": "integer"}},
            "longs": {"type": "ArrayList", "items": {"type": "long"}},
            "names": {"type": "ArrayList", "items": {"type": "String"}},
            "words": {"type": "Array", "items": {"type": "String"}},
            "table": {"type": "HashMap"},
        },
        "required": [],
    },
}
JAVA_ACCEPTED = {
    "text": ["x, y"],
    "any": ["new Foo(1, b)"],
    "whole": [5],
    "count": ["COUNT"],
    "wide": [5],
    "real": [0.5],
    "half": [0.5],
    "flag": [False],
    "letter": ["c"],
    "numbers": [[1, 2]],
    "longs": [[1, 2]],
    "names": [["a", "b"]],
    "words": [["a"]],
    "table": [{}],
}
FOREIGN = [
    ("javascript", "text='x, y'", 1.0),
    ("javascript", "any=node", 1.0),
    ("javascript", "any=x => x", 0.0),
    ("javascript", "node", 0.0),
    ("javascript", "real=4", 1.0),
    ("javascript", "real='4'", 1.0),
    ("javascript", "real=4e0", 0.0),
    ("javascript", "flag=true", 1.0),
    ("javascript", "flag=True", 0.0),
    ("javascript", "big=7n", 1.0),
    ("javascript", "big=7", 0.0),
    ("javascript", "names=['a', \"b\"]", 1.0),
    ("javascript", "names=new Array('a', 'b')", 1.0),
    ("javascript", "names=['b', 'a']", 0.0),
    ("javascript", "pairs=[[1, 2], [3]]", 1.0),
    ("javascript", "pairs=new Array([1, 2], [3])", 1.0),
    ("javascript", "pairs=[[1, 2], [3], 7]", 0.0),
    ("javascript", "pairs=new Array([1, 2], [3], 7)", 0.0),
    ("javascript", "table={key: 'v', 'list': ['a']}", 1.0),
    ("javascript", "table={key: 'v'}", 0.0),
    ("java", 'text="x, y"', 1.0),
    ("java", "any=new Foo(1, b)", 1.0),
    ("java", "whole=5", 1.0),
    ("java", "whole=COUNT", 0.0),
    ("java", "count=COUNT", 1.0),
    ("java", "count=5", 0.0),
    ("java", "whole=5L", 0.0),
    ("java", "wide=5L", 1.0),
    ("java", "wide=" + "5" * 4_990 + "L", 0.0),
    ("java", "wide=5", 0.0),
    ("java", "real=0.5f", 1.0),
    ("java", "real=0.5", 0.0),
    ("java", "half=0.5", 1.0),
    ("java", "flag=false", 1.0),
    ("java", "letter='c'", 1.0),
    ("java", "numbers=new int[]{1, 2}", 1.0),
    ("java", "numbers=new int[] { 1,2 }", 1.0),
    ("java", "numbers={1, 2}", 0.0),
    ("java", "longs=new ArrayList<Long>(Arrays.asList(1L, 2L))", 1.0),
    ("java", "longs=new ArrayList<Long>(Arrays.asList(1, 2))", 0.0),
    ("java", 'names=new ArrayList<>(Arrays.asList("a", "b"))', 1.0),
    ("java", 'names=new ArrayList<>() {{ add("a"); add("b"); }}', 0.0),
    ("java", 'words=new String[]{"a"}', 0.0),
    ("java", "table=new HashMap<String, Object>()", 1.0),
    ("java", 'text="x, y", text="x, y"', 0.0),
    ("java", 'text="x, y', 0.0),
]


@pytest.mark.parametrize(
    ("language", "argument", "right"), FOREIGN, ids=[f"{one[0]}: {one[1]:.60}" for one in FOREIGN]
)
def test_values_in_java_and_javascript_are_read_as_bfcl_reads_them(language, argument, right):
    """Each verdict is that of `ast_checker` of bfcl-eval 2026.3.23, with its parsers; of `names` its quirks are kept, too."""
    function, accepted = (JAVA, JAVA_ACCEPTED) if language == "java" else (SCRIPT, SCRIPT_ACCEPTED)
    name = argument.partition("=")[0]
    truth = [{"a.run": {name: accepted.get(name, [""])}}]
    example = {"ground_truth": truth, "tools": [function], "language": language}
    assert BFCLMatch().score(example, {"response": f"[a.run({argument})]"}) == {"bfcl_ast": right}


def test_the_language_of_a_category_is_told_and_its_answer_written_in_it():
    function = {
        "name": "f",
        "parameters": {"type": "dict", "properties": {"n": {"type": "long"}}, "required": ["n"]},
    }
    record = {
        "id": "java_3",
        "question": "Run.",
        "function": function,
        "ground_truth": [{"f": {"n": [5]}}],
    }
    for identity in ("java_3", "simple_java_3"):
        example = records.bfcl({**record, "id": identity})
        assert (example["language"], example["answer"]) == ("java", "[f(n=5L)]")
        assert "written in Java:" in example["instruction"]
    script = records.bfcl({**record, "id": "javascript_3"})
    assert (script["language"], "written in JavaScript:" in script["instruction"]) == (
        "javascript",
        True,
    )
    assert "language" not in records.bfcl({**record, "id": "simple_3"})


def test_the_types_of_a_call_that_bfcl_runs_do_not_count():
    example = {"ground_truth": ["geo.area(base=10, height=1/4)"], "tools": [FUNCTION]}
    assert BFCLMatch().score(example, {"response": "[geo.area(base=10.0, height=0.25)]"}) == {
        "bfcl_ast": 1.0
    }


def test_each_expected_call_takes_the_first_call_that_fits():
    """As BFCL's checker does; the second of these calls is left without one of its own there, too."""
    truth = [{"play": {"long": [20, 15]}}, {"play": {"long": [20]}}]
    for response, right in (
        ("[play(long=20), play(long=15)]", 0.0),
        ("[play(long=15), play(long=20)]", 1.0),
    ):
        assert BFCLMatch().score({"ground_truth": truth}, {"response": response}) == {
            "bfcl_ast": right
        }


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"base": ["", 10], "unit": ["cm", ""]}, "[geo.area(base=10, unit='cm')]"),
        ({"base": [10], "more": ["x", ""]}, "[geo.area(base=10)]"),
        ({"base": [10], "unit": [""]}, "[geo.area(base=10)]"),
        ({"base": []}, None),
        ({"base": [10], "more": ["x"]}, None),
        ({"unit": ["cm"]}, None),
    ],
    ids=[
        "needed",
        "not described",
        "left out",
        "no value accepted",
        "needed and not described",
        "not accepted and needed",
    ],
)
def test_the_answer_is_a_reply_that_is_right_and_absent_where_none_is(arguments, answer):
    """Some rows of the release contradict themselves: BFCL's checker takes no reply to live_simple_112-68-0."""
    record = {
        "id": "simple_0",
        "question": "Area?",
        "function": [FUNCTION],
        "ground_truth": [{"geo.area": arguments}],
    }
    example = records.bfcl(record)
    assert example.get("answer") == answer
    assert BFCLMatch().score(example, {"response": answer or "geo.area(base=10)"}) == {
        "bfcl_ast": float(bool(answer))
    }


def test_where_relevance_counts_any_call_is_right():
    example = records.bfcl({"id": "live_relevance_0-0-0", "question": "Area?", "function": [TOOL]})
    assert BFCLMatch().score(example, {"response": "[area(base=1)]"}) == {"bfcl_ast": 1.0}
    assert BFCLMatch().score(example, {"response": "None of them helps."}) == {"bfcl_ast": 0.0}


def test_calls_of_an_endpoint_count_as_endpoints_and_as_bfcl_write_them():
    kept = {"geo_area": '{"base": 10}'}
    assert BFCLMatch().score({"ground_truth": TRUTH}, {"response": "", "tool_calls": [kept]}) == {
        "bfcl_ast": 1.0
    }
    call = {
        "type": "function",
        "function": {"name": "geo.area", "arguments": json.dumps({"base": 10})},
    }
    assert BFCLMatch().score({"ground_truth": TRUTH}, {"response": "", "tool_calls": [call]}) == {
        "bfcl_ast": 1.0
    }


def test_calls_are_paired_in_any_order():
    truth = [
        {"play": {"artist": ["A"], "long": [20]}},
        {"play": {"artist": ["A"], "long": [20, 15]}},
    ]
    response = "[play(artist='A', long=15), play(artist='A', long=20)]"
    assert BFCLMatch().score({"ground_truth": truth}, {"response": response}) == {"bfcl_ast": 1.0}


def test_where_no_function_fits_no_call_is_right():
    assert BFCLMatch().score({"ground_truth": []}, {"response": "None of them helps."}) == {
        "bfcl_ast": 1.0
    }
    assert BFCLMatch().score({"ground_truth": []}, {"response": "[area(base=1)]"}) == {
        "bfcl_ast": 0.0
    }


def test_the_request_is_the_question_and_expected_calls_are_joined():
    record = {
        "id": "live_simple_0",
        "question": [[{"role": "user", "content": "Area of 10?"}]],
        "function": [TOOL],
    }
    row = Row(tables={"answers": {"live_simple_0": {"ground_truth": [{"area": {"base": [10]}}]}}})
    example = records.bfcl(record, row)
    assert (example["question"], example["answer"]) == ("Area of 10?", "[area(base=10)]")
    assert '"name": "area"' in example["context"]
    assert "ground_truth" not in records.bfcl({**record, "ground_truth": '{"a": 1}'})


def test_the_reference_of_apigen_is_right():
    answers = [{"name": "area", "arguments": {"base": 3, "deep": {"a": [1, {"b": "c"}]}}}]
    tool = {
        "name": "area",
        "parameters": {"base": {"type": "int", "default": 3}, "deep": {"type": "dict"}},
    }
    record = {
        "id": 1,
        "query": "Area?",
        "answers": json.dumps(answers),
        "tools": json.dumps([tool]),
    }
    example = records.apigen(record)
    assert BFCLMatch().score(example, {"response": example["answer"]}) == {"bfcl_ast": 1.0}
    assert BFCLMatch().score(example, {"response": record["answers"]}) == {"bfcl_ast": 1.0}


def test_tests_of_swebench_become_lists():
    record = {
        "instance_id": "a",
        "repo": "r",
        "base_commit": "c",
        "problem_statement": "P",
        "patch": "d",
        "FAIL_TO_PASS": '["t"]',
    }
    for written in ('["t"]', ["t"]):
        assert records.swebench({**record, "FAIL_TO_PASS": written})["FAIL_TO_PASS"] == ["t"]
    for none in ("", "[]", None, []):
        assert records.swebench({**record, "FAIL_TO_PASS": none})["FAIL_TO_PASS"] == []


@pytest.mark.parametrize(
    "response",
    [
        '<tool_call>{"name": "f", "arguments": {}}</tool_call>',
        '<tool_call>{"name": "f", "argum',
        "<function=f><parameter=x>1</parameter></function>",
        '[TOOL_CALLS][{"name": "f", "arguments": {}}]',
        '{"type": "tool_use", "name": "f", "input": {}}',
    ],
)
def test_a_call_in_native_mark_up_is_wrong_where_none_is_expected(response):
    assert BFCLMatch().score({"ground_truth": []}, {"response": response}) == {"bfcl_ast": 0.0}
    words = {"response": "None of the functions fits."}
    assert BFCLMatch().score({"ground_truth": []}, words) == {"bfcl_ast": 1.0}


def test_a_row_of_bfcl_without_expected_calls_is_not_asked():
    row = {"id": "simple_0", "question": "Area?", "function": [TOOL]}
    assert records.bfcl_with_gold(row) is None
    for identity in ("irrelevance_0", "live_irrelevance_0-0-0", "live_relevance_0-0-0"):
        assert records.bfcl_with_gold({**row, "id": identity}) is not None
    answers = {"answers": {"simple_0": {"ground_truth": [{"area": {"base": [10]}}]}}}
    assert records.bfcl_with_gold(row, Row(tables=answers))["ground_truth"]
