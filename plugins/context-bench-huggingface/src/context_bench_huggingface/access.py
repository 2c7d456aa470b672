"""How the hub is asked: with which token, how often again, and whether at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from json import JSONDecodeError
from typing import Any, TypeVar

from attrs import field, frozen

from context_bench.errors import ConfigurationError, DatasetError
from context_bench_huggingface.refusals import NotTheHubError, fetch_line, is_transient, refusal
from context_bench_huggingface.wanted import Wanted

Answer = TypeVar("Answer")
_LONGEST_PAUSE = 30.0


@frozen
class Access:
    """The way to the hub.

    Attributes:
        token: Access token; None takes the one that the hub's own tools have stored.
        offline: Whether nothing may be asked.
        max_retries: Attempts after the first.
        retry_base_delay: Seconds before the first of them; each further one waits twice as long.

    Raises:
        ConfigurationError: One of the last two is below zero.
    """

    token: str | None = field(default=None, repr=False)
    offline: bool = False
    max_retries: int = 3
    retry_base_delay: float = 1.0

    def __attrs_post_init__(self) -> None:
        for name in ("max_retries", "retry_base_delay"):
            if not getattr(self, name) >= 0:
                raise ConfigurationError(
                    f"{name} is {getattr(self, name)!r}, but must not be below zero."
                )

    def pause(self, failures: int) -> None:
        """Wait before the attempt that follows so many failures."""
        from time import sleep

        sleep(min(_LONGEST_PAUSE, self.retry_base_delay * 2 ** (failures - 1)))

    def ask(self, wanted: Wanted, question: Callable[[], Answer]) -> Answer:
        """Return what a question to the hub gives, asked again where that can help.

        Raises:
            DatasetError: There is no answer; the message says why and what to do.
        """
        failures = 0
        while True:
            try:
                return question()
            except Exception as error:
                failures += 1
                if failures > self.max_retries or not is_transient(error):
                    raise refusal(wanted, error, failures) from error
            self.pause(failures)

    def require_network(self, wanted: Wanted, folder: str | None) -> None:
        """Refuse to ask where nothing may be asked.

        Raises:
            DatasetError: Offline, by option or by the variables of the hub's own tools.
        """
        variables = [
            name
            for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE")
            if _is_on(os.environ.get(name))
        ]
        if not self.offline and not variables:
            return
        why = "offline is on" if self.offline else f"{variables[0]} is set"
        where = f"{folder} holds no copy of it" if folder else "no folder with copies is named"
        raise DatasetError(
            f"The dataset {wanted.where} cannot be read: {why}, and {where}. Where there is a network, run "
            f"{fetch_line(wanted)}; then name that folder with folder=FOLDER or CONTEXT_BENCH_DATASETS."
        )

    def commit(self, wanted: Wanted) -> str:
        """Return the commit that a revision stands for now."""
        revision = wanted.revision
        if len(revision) == 40 and all(letter in "0123456789abcdef" for letter in revision):
            return revision

        def question() -> Any:
            from huggingface_hub import HfApi

            try:
                return HfApi(token=self.token).dataset_info(
                    wanted.source, revision=revision, timeout=30
                )
            except JSONDecodeError as error:
                raise NotTheHubError(f"its answer is no JSON: {error}") from error

        return str(self.ask(wanted, question).sha)


def _is_on(value: str | None) -> bool:
    return (value or "").upper() in ("1", "ON", "YES", "TRUE")
