"""Each of the 25 instructions: what follows it, what does not, and what nearly does."""

from __future__ import annotations

import pytest

from context_bench_ifeval import INSTRUCTIONS, IFEvalChecker

LESS, LEAST = "less than", "at least"

ENGLISH = "the cat sat quietly on the mat while the rain was falling outside the old house"
GERMAN = "Die Katze saß ruhig auf der Matte, während draußen vor dem alten Haus der Regen fiel."

# id -> kwargs, responses that follow it, responses that do not (the near misses among them)
CASES = {
    "keywords:existence": (
        {"keywords": ["cat", "dog"]},
        ["A Cat and a DOG.", "concatenate the dogma"],
        ["A cat.", "c a t dog", "ca-t and dog"],
    ),
    "keywords:frequency": (
        {"keyword": "cat", "frequency": 3, "relation": LEAST},
        ["cat Cat CAT", "catcatcat", "a cat, two cats, concatenate"],
        ["cat cat", "cat cat ca t"],
    ),
    "keywords:forbidden_words": (
        {"forbidden_words": ["rock", "can't"]},
        ["rocket science", "bedrock", "rocks", "I can not"],
        ["a rock", "ROCK!", "rock-solid", "I can't go"],
    ),
    "keywords:letter_frequency": (
        {"letter": "Q", "let_frequency": 2, "let_relation": LESS},
        ["quite", "no such letter"],
        ["quite Quiet", "qq"],
    ),
    "language:response_language": (
        {"language": "de"},
        [GERMAN, "12345", "?!", "..."],
        [ENGLISH, "Kissa istui hiljaa matolla, kun vanhan talon ulkopuolella satoi."],
    ),
    "length_constraints:number_sentences": (
        {"num_sentences": 3, "relation": LESS},
        [
            "One. Two.",
            "Dr. Brown met Mr. Smith. They talked.",
            "It costs 3.50 dollars. Buy it!",
            "no period",
        ],
        ["One. Two. Three.", "What? Yes! No.", 'He said "Stop." She stopped. He left.'],
    ),
    "length_constraints:number_paragraphs": (
        {"num_paragraphs": 2},
        ["One\n***\nTwo", "One***Two", "***One***Two***", "One *** Two\n***\n"],
        [
            "One\n\nTwo",
            "One",
            "One***Two***Three",
            "One***\n***Two",
            "One******Two",
            "One * * * Two",
        ],
    ),
    "length_constraints:number_words": (
        {"num_words": 5, "relation": LESS},
        ["one two three four", "one, two - three: four!"],
        ["one two three four five", "well-known top-notch stuff", "don't don't x"],
    ),
    "length_constraints:nth_paragraph_first_word": (
        {"num_paragraphs": 3, "nth_paragraph": 2, "first_word": "Next"},
        [
            "One\n\nnext two\n\nthree",
            "One\n\n'Next, two\n\nthree",
            'One\n\n"NEXT. two"\n\nthree',
            "a\n\n next's b\n\nc",
        ],
        [
            "One\n\ntwo next\n\nthree",
            "One\n\nnextdoor\n\nthree",
            "One\n\nnext two",
            "One\nnext\nthree",
            "One\n\nnext\n\nthree\n\nfour",
            "\n\none\n\nnext\n\nthree",  # blank paragraphs are counted when one is looked for
        ],
    ),
    "detectable_content:number_placeholders": (
        {"num_placeholders": 2},
        ["[name] and [address]", "[a][b]", "[[x] y] [z]"],
        ["[name]", "[[name]]", "[na\nme] [x]", "(name) (address)", "]a[ ]b["],
    ),
    "detectable_content:postscript": (
        {"postscript_marker": "P.P.S"},
        ["Bye.\nP.P.S. More", "p. p. s", "text P.P.S text"],
        ["Bye.\nP.S. More", "PPS: more", "p.  p. s"],
    ),
    "detectable_format:number_bullet_lists": (
        {"num_bullets": 2},
        [
            "* one\n* two",
            "- one\n- two",
            "text\n  * one\n\t- two\nmore",
            "-one\n*two",
            "* one\n** bold **\n- two",
        ],
        [
            "* one",
            "* one\n* two\n* three",
            "1. one\n2. two",
            "+ one\n+ two",
            "* one * two",
            "**one**\n**two**",
        ],
    ),
    "detectable_format:constrained_response": (
        {},
        ["My answer is yes.", "Well. My answer is maybe. Why?", "**My answer is no.**"],
        ["My answer is yes", "my answer is no.", "My answer is: no.", "Yes."],
    ),
    "detectable_format:number_highlighted_sections": (
        {"num_highlights": 3},
        ["*a* *b* *c*", "**a** **b** **c**", "*a* **b** text *c d*"],
        ["*a* *b*", "* * * *", "*a\nb* *c* *d*", "_a_ _b_ _c_", "** ** **a**"],
    ),
    "detectable_format:multiple_sections": (
        {"section_spliter": "Section", "num_sections": 2},
        ["Section 1\nx\nSection 2\ny", "Section1 Section2", "Section 1 a Section 1 b Section 1 c"],
        [
            "Section 1\nx",
            "SECTION 1\nSECTION 2",
            "Section one\nSection two",
            "Section  1 Section  2",
        ],
    ),
    "detectable_format:json_format": (
        {},
        [
            '{"a": [1, 2]}',
            '```json\n{"a": 1}\n```',
            "```JSON\n[]```",
            "```\n3\n```",
            '"text"',
            " null ",
        ],
        ["{'a': 1}", "Here: {}", '```python\n{"a": 1}\n```', '{"a": 1,}', "``` ```"],
    ),
    "detectable_format:title": (
        {},
        ["<<Rain>>\nIt rains.", "Text <<a b>> text", "<<< x >>>", "<<>> <<x>>"],
        ["<Rain>", "<<>>", "<< >>", "<<Rain\n>>", "Rain", "<<<>>>", "<<Rain>", ">>Rain<<"],
    ),
    "combination:two_responses": (
        {},
        ["One\n******\nTwo", "******One******Two******"],
        [
            "One",
            "One\n******",
            "Same\n******\nSame ",
            "One***Two",
            "One******Two******Three",
            "One******\n******Two",
            "******",
        ],
    ),
    "combination:repeat_prompt": (
        {"prompt_to_repeat": "Say hi."},
        ["Say hi. Hi!", "  SAY HI.", "say hi.\n\nHi"],
        ["Hi! Say hi.", "Say hi", '"Say hi." Hi!'],
    ),
    "startend:end_checker": (
        {"end_phrase": "Peace!"},
        ["Good bye. Peace!", 'He said "PEACE!"', "peace!  \n"],
        ["Peace! Bye.", "Peace", "Peace!'", "Peace!."],
    ),
    "startend:quotation": (
        {},
        ['"Hello."', '  "a" and "b" \n', '""'],
        ['"', '"Hello.', "'Hello.'", "“Hello.”", 'He said "Hello."'],
    ),
    "change_case:capital_word_frequency": (
        {"capital_frequency": 3, "capital_relation": LEAST},
        ["STOP and GO and WAIT", "NATO-BASED, U.N. I", "I DON'T", "A CANNOT"],
        ["STOP and GO", "Stop And Go", "WELL-KNOWN ALL-TIME hit", "STOPped GOne WAITing"],
    ),
    "change_case:english_capital": (
        {},
        [ENGLISH.upper(), "1. " + ENGLISH.upper() + "!"],
        [
            ENGLISH,
            ENGLISH.title(),
            ENGLISH.upper() + "s",
            GERMAN.replace("ß", "ss").upper(),
            "12345",
        ],
    ),
    "change_case:english_lowercase": (
        {},
        [ENGLISH, "1. " + ENGLISH + "!"],
        [ENGLISH.upper(), ENGLISH.capitalize(), GERMAN.lower(), "12345"],
    ),
    "punctuation:no_comma": (
        {},
        ["No commas; none at all.", "full width ，", "semicolon;"],
        ["One, two", ",", "1,000"],
    ),
}


def verdict(instruction, kwargs, response, name="strict"):
    row = {"prompt": "p", "instruction_id_list": [instruction], "kwargs": [kwargs]}
    return IFEvalChecker().score(row, {"response": response})[f"ifeval_{name}"]


def test_the_table_has_all_25_instructions():
    assert set(CASES) == set(INSTRUCTIONS)
    assert len(CASES) == 25


@pytest.mark.parametrize(
    ("instruction", "response"),
    [(instruction, response) for instruction, case in CASES.items() for response in case[1]],
)
def test_a_response_that_follows_passes(instruction, response):
    assert verdict(instruction, CASES[instruction][0], response) == 1.0
    assert verdict(instruction, CASES[instruction][0], response, "loose") == 1.0


@pytest.mark.parametrize(
    ("instruction", "response"),
    [(instruction, response) for instruction, case in CASES.items() for response in case[2]],
)
def test_a_near_miss_fails(instruction, response):
    assert verdict(instruction, CASES[instruction][0], response) == 0.0


@pytest.mark.parametrize("instruction", CASES)
@pytest.mark.parametrize("response", ["", " ", "\n\t\u2028", "\u00a0"])
def test_a_blank_response_follows_nothing(instruction, response):
    assert verdict(instruction, CASES[instruction][0], response) == 0.0
    assert verdict(instruction, CASES[instruction][0], response, "loose") == 0.0


@pytest.mark.parametrize(
    ("instruction", "names", "response", "count"),
    [
        ("keywords:frequency", ("relation", "frequency", {"keyword": "a"}), "a b a", 2),
        ("keywords:letter_frequency", ("let_relation", "let_frequency", {"letter": "#"}), "# #", 2),
        ("length_constraints:number_sentences", ("relation", "num_sentences", {}), "One. Two.", 2),
        ("length_constraints:number_words", ("relation", "num_words", {}), "one two", 2),
        (
            "change_case:capital_word_frequency",
            ("capital_relation", "capital_frequency", {}),
            "ONE or TWO",
            2,
        ),
    ],
)
def test_less_than_is_below_and_at_least_is_from(instruction, names, response, count):
    relation, limit, others = names
    for asked in (count - 1, count, count + 1):
        assert verdict(instruction, {relation: LESS, limit: asked, **others}, response) == (
            count < asked
        )
        assert verdict(instruction, {relation: LEAST, limit: asked, **others}, response) == (
            count >= asked
        )


@pytest.mark.parametrize(
    ("mark", "response", "followed"),
    [
        ("P.S.", "P.S. More", True),
        ("P.S.", "p. s. more", True),
        ("P.S.", "P.P.S more", False),
        ("N.B.", "so n.b. more", True),
        ("N.B.", "none", False),
    ],
)
def test_postscript_marks(mark, response, followed):
    assert (
        verdict("detectable_content:postscript", {"postscript_marker": mark}, response) == followed
    )


def test_after_an_asterisk_alone_on_its_line_the_next_line_is_its_text():
    assert verdict("detectable_format:number_bullet_lists", {"num_bullets": 1}, "*\n* one") == 1.0
    assert (
        verdict("detectable_format:number_bullet_lists", {"num_bullets": 2}, "*\n* one\n* two")
        == 1.0
    )
    assert verdict("detectable_format:number_bullet_lists", {"num_bullets": 2}, "*\n- one") == 1.0


def test_keywords_are_regular_expressions():
    assert verdict("keywords:existence", {"keywords": ["colou?r"]}, "color") == 1.0
    assert verdict("keywords:forbidden_words", {"forbidden_words": ["c.t"]}, "a cut") == 0.0


def test_the_prompt_of_the_row_is_repeated_if_the_kwargs_name_none():
    checker = IFEvalChecker()
    for field in ("prompt", "question"):
        row = {
            field: "Say hi.",
            "instruction_id_list": ["combination:repeat_prompt"],
            "kwargs": [{}],
        }
        assert checker.score(row, {"response": "say hi. Hi!"})["ifeval_strict"] == 1.0
        assert checker.score(row, {"response": "Hi!"})["ifeval_strict"] == 0.0
        row["kwargs"] = [{"prompt_to_repeat": "Say"}]
        assert checker.score(row, {"response": "say it"})["ifeval_strict"] == 1.0
