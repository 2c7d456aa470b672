"""How an example becomes one text: for servers that go on with a prompt, and for prompts of one's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from context_bench.prompts import asked, prompt_texts, text_of_field

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


class PromptTemplate:
    """A text with fields of the example in braces, such as ``{context}`` and ``{question}``.

    Braces around anything but a name stand for themselves, so JSON can be written as it is. The worked examples of an example stand
    before its ``{question}`` and its instruction behind it, unless the template has a place for ``{shots}`` and ``{instruction}``.

    >>> PromptTemplate("{context} Q: {question} A:").prompt({"context": "Rome is in Italy.", "question": "Where is Rome?"})
    'Rome is in Italy. Q: Where is Rome? A:'

    Args:
        text: The template.

    Raises:
        ValueError: It names no field: every row would be asked the same.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.fields = tuple(dict.fromkeys(_PLACEHOLDER.findall(text)))
        if not self.fields:
            raise ValueError(
                "prompt_template names no field of the example; write one in braces, such as {context}."
            )

    def prompt(self, example: Mapping[str, Any]) -> str:
        """Return the text for an example.

        Raises:
            ValueError: The example lacks a field that the template names.
        """
        for name in self.fields:
            if name not in example:
                known = ", ".join(map(str, example)) or "no fields"
                raise ValueError(
                    f"prompt_template names {{{name}}}, which the example does not have. It has: {known}."
                )
        texts = {name: text_of_field(example[name]) for name in self.fields}
        if "question" in texts:
            texts["question"] = asked(texts["question"], example, apart=texts)
        return _PLACEHOLDER.sub(lambda found: texts[found.group(1)], self.text)


def plain_prompt(example: Mapping[str, Any], system_prompt: str | None = None) -> str:
    """Return system prompt, context and question of an example, a blank line between them.

    >>> plain_prompt({"context": "Rome is in Italy.", "question": "Where is Rome?"})
    'Rome is in Italy.\\n\\nWhere is Rome?'

    Raises:
        ValueError: The example has nothing to ask, or is a conversation.
    """
    if example.get("turns"):
        raise ValueError("A conversation (`turns`) needs the chat endpoint: a prompt has no turns.")
    texts = prompt_texts(example).present
    if not texts:
        raise ValueError(
            "There is nothing to ask: the example has neither a context nor a question. "
            f"It has: {', '.join(map(str, example)) or 'no fields'}."
        )
    return "\n\n".join([*([system_prompt] if system_prompt else []), *texts])
