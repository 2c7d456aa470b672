"""Assistants on the command line as systems: flags and formats as their makers document them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from context_bench_command.assistant import Assistant
from context_bench_command.assistant_usage import claude_usage, codex_usage, gemini_usage
from context_bench_command.errors import CommandOutputError
from context_bench_command.outputs import decoded, json_output

_CODEX_MESSAGES = ("agent_message", "assistant_message")


class ClaudeCLI(Assistant):
    """Claude Code, asked with ``claude -p --output-format json``.

    The output holds ``response``, ``usage`` with its cost, ``finish_reason``, ``model`` and ``num_turns``. Input tokens
    are the whole prompt: Claude Code's own system prompt and what was read from the cache are part of it.

    Args:
        model: Model to ask for, such as ``sonnet`` or a whole id; None leaves it to Claude Code's settings.
        system_prompt: Replaces Claude Code's system prompt.
        append_system_prompt: Stands behind it.
        tools: Tools that it may use, separated by commas; ``""`` is none, ``default`` all.
        max_turns: Most turns for one row.
        arguments: Further arguments.
        program: The program, when it is called otherwise.
        prompt: Template of the prompt; by default context, blank line and question.
        cwd: Folder that it runs in; by default an empty one.
        env: Variables to set, such as ``ANTHROPIC_BASE_URL=http://localhost:8787`` for a proxy.
        pass_env: Names of variables to pass on, beside those that it signs in with.
        timeout: Seconds for one row; None for no limit.
        version: Version of Claude Code. With it, or with a model, responses are reused across runs.
        name: Display name; by default ``claude``.
    """

    adapter = "claude-cli"
    variables = (
        "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR",
        "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX",
    )  # fmt: skip
    endpoint_variable = "ANTHROPIC_BASE_URL"

    def __init__(
        self,
        model: str | None = None,
        system_prompt: str | None = None,
        append_system_prompt: str | None = None,
        tools: str = "",
        max_turns: int | None = None,
        arguments: Iterable[str] = (),
        program: str = "claude",
        prompt: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | Iterable[str] | None = None,
        pass_env: Iterable[str] = (),
        timeout: float | None = 300.0,
        version: str | None = None,
        name: str | None = None,
    ) -> None:
        command = [program, "-p", "--output-format", "json", "--no-session-persistence"]
        command += _given("--model", model) + _given("--system-prompt", system_prompt)
        command += _given("--append-system-prompt", append_system_prompt) + _given(
            "--max-turns", max_turns
        )
        command += [] if tools == "default" else ["--tools", tools]
        super().__init__(
            command, model=model, arguments=arguments, prompt=prompt, cwd=cwd, env=env, pass_env=pass_env, timeout=timeout,
            version=version, name=name,
        )  # fmt: skip

    def _read(self, written: bytes) -> dict[str, Any]:
        found = json_output(written, self.name)
        if isinstance(found, list):  # verbose settings print every message; the result is the last
            found = next(
                (
                    one
                    for one in reversed(found)
                    if isinstance(one, Mapping) and one.get("type") == "result"
                ),
                None,
            )
        if not isinstance(found, Mapping):
            raise CommandOutputError(f"{self.name} wrote no result object")
        if found.get("is_error") or found.get("subtype", "success") != "success":
            raise self._refusal(found.get("result") or found.get("subtype") or "")
        if not isinstance(found.get("result"), str):
            raise CommandOutputError(f"{self.name} wrote an object without a 'result'")
        usage = claude_usage(found)
        models = found.get("modelUsage")
        named = {
            "finish_reason": found.get("stop_reason"),
            "num_turns": found.get("num_turns"),
            "model": next(iter(models))
            if isinstance(models, Mapping) and len(models) == 1
            else self.model,
        }
        known = {name: value for name, value in named.items() if value is not None}
        return {"response": found["result"], **({"usage": usage} if usage else {}), **known}


class CodexCLI(Assistant):
    """Codex, asked with ``codex exec --json``, in its own read-only sandbox unless ``arguments`` say otherwise.

    The output holds ``response``, the last message of the agent, and ``usage``.

    Args:
        model: Model to ask for; None leaves it to Codex's settings.
        arguments: Further arguments.
        program: The program, when it is called otherwise.
        prompt: Template of the prompt; by default context, blank line and question.
        cwd: Folder that it runs in; by default an empty one.
        env: Variables to set, as a mapping or ``NAME=value`` texts.
        pass_env: Names of variables to pass on, beside those that it signs in with.
        timeout: Seconds for one row; None for no limit.
        version: Version of Codex. With it, or with a model, responses are reused across runs.
        name: Display name; by default ``codex``.
    """

    adapter = "codex-cli"
    variables = ("OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_HOME", "OPENAI_BASE_URL")
    endpoint_variable = "OPENAI_BASE_URL"

    def __init__(
        self,
        model: str | None = None,
        arguments: Iterable[str] = (),
        program: str = "codex",
        prompt: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | Iterable[str] | None = None,
        pass_env: Iterable[str] = (),
        timeout: float | None = 300.0,
        version: str | None = None,
        name: str | None = None,
    ) -> None:
        command = [
            program,
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--ephemeral",
            *_given("--model", model),
        ]
        super().__init__(
            command, model=model, arguments=arguments, prompt=prompt, cwd=cwd, env=env, pass_env=pass_env, timeout=timeout,
            version=version, name=name, after=["-"],
        )  # fmt: skip

    def _read(self, written: bytes) -> dict[str, Any]:
        response, usage, trouble = None, {}, None
        for line in decoded(written, self.name).split(
            "\n"
        ):  # U+2028 and its like stand as they are in JSON
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                continue  # what is no event is no answer either
            if not isinstance(event, Mapping):
                continue
            item = event.get("item")
            if event.get("type") == "turn.failed":
                error = event.get("error")
                raise self._refusal(
                    error.get("message", "") if isinstance(error, Mapping) else error or ""
                )
            if event.get("type") == "error":
                trouble = event.get("message")
            elif event.get("type") == "turn.completed":
                usage = codex_usage(event.get("usage"))
            elif event.get("type") == "item.completed":
                response = _message(item) or response
        if not isinstance(response, str):
            if trouble:
                raise self._refusal(trouble)
            raise CommandOutputError(f"{self.name} ended without a message of the agent")
        return {
            "response": response,
            **({"usage": usage} if usage else {}),
            **({"model": self.model} if self.model else {}),
        }


class GeminiCLI(Assistant):
    """The Gemini CLI, asked with ``gemini --output-format json``.

    The output holds ``response``, ``usage`` summed over the models that were asked, and ``model`` when it was one.

    Args:
        model: Model to ask for; None leaves it to the settings.
        arguments: Further arguments.
        program: The program, when it is called otherwise.
        prompt: Template of the prompt; by default context, blank line and question.
        cwd: Folder that it runs in; by default an empty one.
        env: Variables to set, as a mapping or ``NAME=value`` texts.
        pass_env: Names of variables to pass on, beside those that it signs in with.
        timeout: Seconds for one row; None for no limit.
        version: Version of the Gemini CLI. With it, or with a model, responses are reused across runs.
        name: Display name; by default ``gemini``.
    """

    adapter = "gemini-cli"
    variables = (
        "GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION",
        "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_GENAI_USE_VERTEXAI",
    )  # fmt: skip

    def __init__(
        self,
        model: str | None = None,
        arguments: Iterable[str] = (),
        program: str = "gemini",
        prompt: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | Iterable[str] | None = None,
        pass_env: Iterable[str] = (),
        timeout: float | None = 300.0,
        version: str | None = None,
        name: str | None = None,
    ) -> None:
        command = [program, "--output-format", "json", *_given("-m", model)]
        super().__init__(
            command, model=model, arguments=arguments, prompt=prompt, cwd=cwd, env=env, pass_env=pass_env, timeout=timeout,
            version=version, name=name,
        )  # fmt: skip

    def _read(self, written: bytes) -> dict[str, Any]:
        found = json_output(written, self.name)
        if not isinstance(found, Mapping):
            raise CommandOutputError(f"{self.name} wrote no object")
        error = found.get("error")
        if error:
            raise self._refusal(error.get("message", "") if isinstance(error, Mapping) else error)
        if not isinstance(found.get("response"), str):
            raise CommandOutputError(f"{self.name} wrote an object without a 'response'")
        stats = found.get("stats")
        models = stats.get("models") if isinstance(stats, Mapping) else None
        usage = gemini_usage(models) if isinstance(models, Mapping) else {}
        model = (
            next(iter(models)) if isinstance(models, Mapping) and len(models) == 1 else self.model
        )
        return {
            "response": found["response"],
            **({"usage": usage} if usage else {}),
            **({"model": model} if model else {}),
        }


class LLMCLI(Assistant):
    """The ``llm`` tool, asked with ``llm prompt --no-stream``; its plugins reach many models.

    The output holds ``response``.

    Args:
        model: Model to ask for; None leaves it to llm's settings.
        system_prompt: The system prompt.
        arguments: Further arguments, such as ``-o temperature 0``.
        program: The program, when it is called otherwise.
        prompt: Template of the prompt; by default context, blank line and question.
        cwd: Folder that it runs in; by default an empty one.
        env: Variables to set, as a mapping or ``NAME=value`` texts.
        pass_env: Names of variables to pass on, beside ``OPENAI_API_KEY``; keys that llm keeps need none.
        timeout: Seconds for one row; None for no limit.
        version: Version of llm. With it, or with a model, responses are reused across runs.
        name: Display name; by default ``llm``.
    """

    adapter = "llm-cli"
    variables = ("OPENAI_API_KEY", "LLM_USER_PATH", "LLM_MODEL")

    def __init__(
        self,
        model: str | None = None,
        system_prompt: str | None = None,
        arguments: Iterable[str] = (),
        program: str = "llm",
        prompt: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | Iterable[str] | None = None,
        pass_env: Iterable[str] = (),
        timeout: float | None = 300.0,
        version: str | None = None,
        name: str | None = None,
    ) -> None:
        command = [
            program,
            "prompt",
            "--no-stream",
            *_given("-m", model),
            *_given("-s", system_prompt),
        ]
        super().__init__(
            command, model=model, arguments=arguments, prompt=prompt, cwd=cwd, env=env, pass_env=pass_env, timeout=timeout,
            version=version, name=name,
        )  # fmt: skip


def _message(item: Any) -> str | None:
    """Return the text of an item of Codex that is a message of the agent; earlier versions called it by another name."""
    if (
        not isinstance(item, Mapping)
        or item.get("type", item.get("item_type")) not in _CODEX_MESSAGES
    ):
        return None
    text = item.get("text")
    return text if isinstance(text, str) else None


def _given(flag: str, value: object) -> list[str]:
    return [] if value is None else [flag, str(value)]
