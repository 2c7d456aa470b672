"""What of a response is the answer, and what of an example is the reference: one rule of each for
every evaluator.

The runner parts each response before evaluators see it, and an evaluator that parts it again
changes nothing. So an evaluator gives the same score in a run and when it is called with what a
model wrote. What an evaluator reads *in* the answer is here, too: `without_layout` takes layout
off, `read_reply` marks what is quoted, `concluding` finds what is announced, `without_remarks`
leaves out courtesies and `tool_calls` decodes native tool calls.

>>> part_answer("<think>Rome? No.</think>Paris<|im_end|>").answer
'Paris'
>>> references({"answer": "Paris", "answer_aliases": ["Paname"]})
('Paris', 'Paname')
"""

from context_bench.answers.calls import ToolCall, call_of_object, marks_calls, tool_calls
from context_bench.answers.concluding import announced, concluding
from context_bench.answers.gold import REFERENCE_FIELDS, Gold, gold, references
from context_bench.answers.layout import without_emphasis, without_layout
from context_bench.answers.parting import (
    NO_ANSWER,
    REASONING,
    REPLY,
    UNREADABLE,
    Parted,
    answer_of,
    part_answer,
    parted_output,
    reply_of,
)
from context_bench.answers.reading import GAP, Reply, read_reply
from context_bench.answers.remarks import without_closing, without_remarks
from context_bench.answers.signs import nfkc, plain_signs
from context_bench.answers.values import plain_value, text_of

__all__ = [
    "GAP",
    "NO_ANSWER",
    "REASONING",
    "REFERENCE_FIELDS",
    "REPLY",
    "UNREADABLE",
    "Gold",
    "Parted",
    "Reply",
    "ToolCall",
    "announced",
    "answer_of",
    "call_of_object",
    "concluding",
    "gold",
    "marks_calls",
    "nfkc",
    "part_answer",
    "parted_output",
    "plain_signs",
    "plain_value",
    "read_reply",
    "references",
    "reply_of",
    "text_of",
    "tool_calls",
    "without_closing",
    "without_emphasis",
    "without_layout",
    "without_remarks",
]
