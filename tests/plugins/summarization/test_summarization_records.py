"""From records to examples, and what they are scored by."""

from __future__ import annotations

import pytest

from context_bench_huggingface import Row
from context_bench_summarization import records


def test_the_query_of_qmsum_stands_first_in_its_input():
    record = {"id": "q", "input": "What was decided?\n\nA: Yes.\n\nB: No.", "output": "Nothing."}
    example = records.qmsum(record)
    assert (example["question"], example["context"]) == ("What was decided?", "A: Yes.\n\nB: No.")


def test_all_references_of_dialogsum_are_kept():
    release = {
        "fname": "t",
        "dialogue": "#A#: Hi.",
        "summary1": "One.",
        "summary2": "Two.",
        "summary3": "One.",
    }
    assert records.dialogsum(release)["answers"] == ["One.", "Two."]
    assert records.dialogsum({"id": "t", "dialogue": "#A#: Hi.", "summary": "One."})["answers"] == [
        "One."
    ]


def test_the_articles_of_multi_news_are_parted():
    example = records.multi_news({"document": "First.\n|||||\nSecond. |||||", "summary": "Both."})
    assert example["context"] == "First.\n\nSecond."


def test_an_empty_summary_is_no_gold():
    assert "answer" not in records.govreport({"report": "R", "summary": " "})


def test_the_release_of_qmsum_has_a_meeting_with_all_its_queries():
    meeting = {
        "meeting_transcripts": [
            {"speaker": "A", "content": "Yes."},
            {"speaker": "B", "content": "No."},
        ],
        "general_query_list": [{"query": "Summarise it.", "answer": "They differ."}],
        "specific_query_list": [
            {"query": "What of B?", "answer": "No.", "relevant_text_span": [["1", "1"]]}
        ],
    }
    found = records.qmsum(meeting, Row(3))
    assert [(each["id"], each["question"], each["answer"]) for each in found] == [
        ("3_0", "Summarise it.", "They differ."),
        ("3_1", "What of B?", "No."),
    ]
    assert {each["context"] for each in found} == {"A: Yes.\nB: No."}


SECTIONS = [
    {"section_title": "Letter", "paragraphs": ["Dear all,"], "subsections": []},
    {
        "section_title": "Background",
        "paragraphs": ["First.", "Second."],
        "subsections": [{"section_title": "Law", "paragraphs": ["Third."], "subsections": []}],
    },
]
REPORT = "Letter\nDear all,\nBackground\nFirst.\nSecond.\nLaw\nThird."
HIGHLIGHT = [
    {"section_title": "Why GAO Did This Study", "paragraphs": ["It was asked to.", "Twice."]},
    {"section_title": "What GAO Recommends", "paragraphs": ["More."]},
]
REPORTS = {
    "of the Accountability Office": (
        {"report": SECTIONS, "highlight": HIGHLIGHT},
        "It was asked to. Twice. More.",
    ),
    "of the Research Service": (
        {
            "reports": {"section_title": "", "paragraphs": [], "subsections": SECTIONS},
            "summary": ["One.", "Two."],
        },
        "One. Two.",
    ),
    "without its summary": ({"reports": SECTIONS, "summary": []}, None),
    "without its highlight": ({"report": SECTIONS, "highlight": None}, None),
}


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_of_the_release_of_govreport_has_sections_in_sections(report):
    content, summary = REPORTS[report]
    example = records.govreport(
        {"id": "GAO-1", "title": "On it", "released_date": "2018", **content}, Row(3)
    )
    assert (example["id"], example["context"], example.get("answer")) == ("GAO-1", REPORT, summary)


HUB = {
    "plain text": {"document": "Letter\nDear all,", "summary": "It is short."},
    "sections": {
        "document_sections": {
            "title": ["Letter", ""],
            "paragraphs": ["Dear all,", ""],
            "depth": [1, 2],
        },
        "summary_sections": {"title": ["What GAO found"], "paragraphs": ["It is\nshort."]},
    },
}


@pytest.mark.parametrize("edition", HUB)
def test_a_report_of_the_authors_edition_on_the_hub_is_read(edition):
    example = records.govreport({"id": "GAO_123456", **HUB[edition]}, Row(3))
    assert (example["id"], example["context"], example["answer"]) == (
        "GAO_123456",
        "Letter\nDear all,",
        "It is short.",
    )
    assert "answer" not in records.govreport({"id": "a", "document": "D", "summary": ""})


EPISODES = {
    "as it is": (
        {"Recap": ["They meet.", "They part."], "Show Title": "Friends"},
        "Ann: Hi there!\n[They part]",
        4,
    ),
    "cut into parts of words": (
        {
            "filename": "Friends_01x01.json",
            "Transcript": ["An@@ n : H@@ i there !", "[ They part ]"],
            "Recap": ["They me@@ et .\nThey part ."],
        },
        "Ann : Hi there !\n[ They part ]",
        "Friends_01x01",
    ),
    "with a recap that is a text": (
        {"Recap": "They meet.\nThey part."},
        "Ann: Hi there!\n[They part]",
        4,
    ),
}


@pytest.mark.parametrize("edition", EPISODES)
def test_an_episode_of_the_release_of_summscreen_has_lines(edition):
    content, transcript, identity = EPISODES[edition]
    example = records.summscreenfd(
        {"Transcript": ["Ann: Hi there!", "[They part]"], **content}, Row(4)
    )
    assert (example["id"], example["context"]) == (identity, transcript)
    assert example["answer"].replace(" .", ".") == "They meet.\nThey part."
    assert "answer" not in records.summscreenfd({"Transcript": ["Ann: Hi!"], "Recap": []})


def test_a_meeting_of_the_release_of_meetingbank_gives_an_example_for_each_item():
    spoken = [{"speaker": "1", "text": "Order. "}, {"speaker": "2", "text": "Aye."}]
    items = {
        "CB 118549": {
            "Summary": "An ordinance.",
            "transcripts": spoken,
            "type": "Ordinance",
            "duration": 60,
        },
        "Res 31669": {
            "Summary": "",
            "transcripts": spoken[:1],
            "type": "Resolution",
            "duration": 5,
        },
    }
    meeting = {
        "URLs": {"Video": "v"},
        "VideoDuration": 99,
        "Transcripts": "a.json",
        "itemInfo": items,
    }
    for named, identity in (
        ({"id": "SeattleCityCouncil_06132016"}, "SeattleCityCouncil_06132016"),
        ({}, "3"),
    ):
        found = records.meetingbank({**named, **meeting}, Row(3))
        assert [(each["id"], each["context"], each.get("answer")) for each in found] == [
            (f"{identity}_CB 118549", "Order. Aye.", "An ordinance."),
            (f"{identity}_Res 31669", "Order.", None),
        ]
    assert records.meetingbank({**meeting, "itemInfo": {}}) == []


def test_a_split_of_the_release_of_meetingbank_calls_the_transcript_its_source():
    split = {
        "id": "SeattleCityCouncil_06132016_Res 31669",
        "source": "Order.",
        "summary": "A resolution.",
    }
    hub = {"id": 0, "uid": split["id"], "transcript": "Order.", "summary": "A resolution."}
    assert records.meetingbank(split) == records.meetingbank(hub)
    assert records.meetingbank(hub)["cluster"] == "SeattleCityCouncil_06132016"
