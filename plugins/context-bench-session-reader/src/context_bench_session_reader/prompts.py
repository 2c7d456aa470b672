"""What the reader is told."""

from __future__ import annotations

PROMPTS = {
    "recall": """Below is what an agent still has of its session. Answer each question from it alone.

{session}

The questions. Each shows where a value stood, with ___ in its place:
{questions}

Reply with one JSON object: {{"answers": [{{"number": 1, "answer": "..."}}, ...]}}.
Copy each value exactly as it stands in the session, without quotes or words of your own.
Where the session does not say, give "".""",
    "write": """Below is a part of an agent's session that is about to be compressed.
Write {count} questions whose answers the agent may need later. Of these kinds, as many as the text allows:
recall (a fact), artifact (which file, in what state), continuation (what was about to be done),
decision (what was decided, and why).

{session}

Reply with one JSON object:
{{"probes": [{{"kind": "recall", "question": "...", "answer": "...", "quote": "..."}}, ...]}}.
The answer is a few words that stand in the text as they are. The quote is the passage, copied exactly,
that holds the answer. The question must not hold the answer.""",
    "act": """Below is an agent's session so far, and the tools that it has. Say what the agent does next.

{session}

{tools}

Reply with one JSON object: {{"tool": "...", "arguments": "...", "text": "..."}}.
"tool" is the name of the one tool that is called next, or "" when the agent answers in words;
"arguments" are the call's arguments as a JSON object written in a string; "text" is what it says.""",
}
PROMPTS_VERSION = "1"
