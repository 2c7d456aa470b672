"""What a judge asks with: its prompts, its model's ways, and what came of it so far."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import tomli
from attrs import Factory, frozen

from context_bench.errors import ConfigurationError
from context_bench_judging.asking import ClientPolicy, Request
from context_bench_judging.objects import ask_object
from context_bench_judging.prompt_book import PromptBook
from context_bench_judging.transcript import Transcript
from context_bench_openai import ChatReply

_Read = TypeVar("_Read")


@frozen
class Asker:
    """Asks the questions of one judgement.

    Attributes:
        book: The prompts.
        parameters: Fields of every request.
        client_policy: What the server takes; shared by all judgements of a judge.
        repairs: How often a reply that cannot be read is sent back.
        transcript: The replies so far.
    """

    book: PromptBook
    parameters: Mapping[str, Any]
    client_policy: ClientPolicy
    repairs: int = 3
    transcript: Transcript = Factory(Transcript)

    def ask(
        self,
        prompt: str,
        fields: Mapping[str, Any],
        read: Callable[[Mapping[str, Any]], _Read],
        /,
        **texts: str,
    ) -> Generator[Request, ChatReply, _Read]:
        """Yield what is asked until the reply can be read; return what was read. See `ask_object`.

        Args:
            prompt: Name of the prompt.
            fields: JSON schema of each field of the reply.
            read: Reads the fields.
            texts: What its placeholders become.
        """
        return ask_object(
            self.book.messages(prompt, **texts),
            fields,
            read,
            parameters=self.parameters,
            client_policy=self.client_policy,
            transcript=self.transcript,
            repairs=self.repairs,
        )


def changed_prompts(prompts: Mapping[str, str] | str | Path | None) -> dict[str, str]:
    """Return prompts of the user's: as they are, or out of a TOML file with one text a name.

    Raises:
        ConfigurationError: The file cannot be read, or holds something else.
    """
    if prompts is None or prompts == "":
        return {}
    if isinstance(prompts, Mapping):
        return dict(prompts)
    try:
        found = tomli.loads(Path(prompts).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"The prompts in {str(prompts)!r} cannot be read: {error}"
        ) from error
    if not all(isinstance(text, str) for text in found.values()):
        raise ConfigurationError(
            f"The prompts in {str(prompts)!r} must be texts: NAME = '''...'''."
        )
    return found
