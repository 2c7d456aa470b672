"""The system ``agent``: a tool loop or a program that works on a task in a workspace, through an endpoint or a proxy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from secrets import token_hex
from typing import Any

from attrs import evolve, frozen

from context_bench.errors import ConfigurationError
from context_bench_agents_live.controls import MATCHED, Control
from context_bench_agents_live.loop import (
    BOUND,
    FINISHED,
    GAVE_UP,
    REFUSED,
    Ending,
    ToolLoop,
    declared_failure,
)
from context_bench_agents_live.policy import OraclePolicy
from context_bench_agents_live.policy_server import MODEL, PolicyServer
from context_bench_agents_live.presets import preset_of
from context_bench_agents_live.prices import Budget
from context_bench_agents_live.program import Program
from context_bench_agents_live.requests import RequestLog
from context_bench_agents_live.tap import Tap
from context_bench_agents_live.tools import TOOLS
from context_bench_agents_live.transcript import MAX_CHARACTERS, Transcript
from context_bench_agents_live.upstream import ModelUpstream
from context_bench_agents_live.workspace import Workspace
from context_bench_http import (
    DEFAULT_FAILURE_HEADERS,
    DeclaredFailureError,
    Endpoint,
    EndpointError,
    EndpointURLError,
    FailureHeaders,
    HttpClient,
    Network,
    Retries,
)

POLICIES = ("oracle", "none")
DEFAULT_LIMITS: Mapping[str, int] = {"turns": 80, "seconds": 600, "bytes": 1_000_000}
LOOP = "loop"
_KEY = "cb-row-"


@frozen
class _Work:
    """A task in its workspace.

    Attributes:
        task: The instruction.
        workspace: Where the files are.
        limits: ``turns`` and ``seconds``.
        session: The conversation from which it goes on.
    """

    task: str
    workspace: Workspace
    limits: Mapping[str, int]
    session: Sequence[Mapping[str, Any]] = ()


class Agent:
    """Lets a tool loop or a program work on each task, in a folder that is removed afterwards.

        Agent("loop").process({"question": "...", "files": {"RULES.md": "..."}})

    With ``policy="oracle"`` a server of this process answers in place of a model, and counts the requests as they arrive
    there: behind a proxy, as the proxy forwards them. Each row has a key, so parallel rows are not mixed.

    Args:
        config: ``loop``, or the name of a preset such as ``codex``.
        command: Any other program and its arguments, with the placeholders of `Program`.
        program: Path of a preset's executable; None searches for it.
        env: Variables to set for a program, each ``NAME=value``.
        pass_env: Names of variables to pass on to a program.
        base_url: Where the agent sends its requests: a proxy, or a model. None sends them to the policy.
        policy: ``oracle``, or ``none`` for the model at ``base_url``.
        upstream: With ``policy=none``, the model to which the server at ``port`` passes the requests on: behind a proxy, what
            was forwarded is then known. None where the agent or the proxy calls the model itself.
        notes: Whether the oracle writes down what it found.
        max_turns: Maximum number of turns of the oracle.
        port: Port of the policy, or of `upstream`, on 127.0.0.1, to which a proxy forwards; 0 takes a free port.
        model: Model to call.
        api_key: Key of a model, with ``policy=none``.
        timeout: Seconds for one request.
        failure_headers: Response headers of the proxy or the model that make a row a failure, as ``name`` or ``name=value``.
        control: Control proxy in front of the policy: ``none``, ``head``, ``clear-results`` or ``random``; see `Control`.
        control_size: Its characters, results or percent of lines.
        controls: Whether each task is worked on once more, with lines of the results removed at random at the share of their
            tokens that this arm kept.
        start_turns: Turns that the agent works with the oracle before the arm begins: each arm goes on from the same conversation
            and the same files. They are not counted.
        max_cost: What a task may cost, in the unit of the prices; then it ends as ``bound``. The last request may exceed it.
        price_input: Price of a million tokens that are not read from the cache.
        price_cached: Price of a million tokens read from the cache; None takes `price_input`.
        price_output: Price of a million tokens that the model writes.
        price_cache_write: Price of a million tokens that a turn writes into the cache; None takes `price_input`.
        transcript: Characters of the messages that a row stores for the viewer: what the agent sent in each turn, and what was
            forwarded of it. 0 stores none.
        name: Display name.

    Raises:
        ConfigurationError: An option cannot be used, the program is not installed, or the port is taken.
    """

    reads = ("question", "files", "limits", "session")

    def __init__(
        self,
        config: str = LOOP,
        command: Sequence[str] | None = None,
        program: str | None = None,
        env: Iterable[str] = (),
        pass_env: Iterable[str] = (),
        base_url: str | None = None,
        policy: str = "oracle",
        upstream: str | None = None,
        notes: bool = False,
        max_turns: int = 60,
        port: int = 0,
        model: str = MODEL,
        api_key: str | None = None,
        timeout: float = 120.0,
        failure_headers: Iterable[str] = DEFAULT_FAILURE_HEADERS,
        control: str = "none",
        control_size: int | None = None,
        controls: bool = False,
        start_turns: int = 0,
        max_cost: float | None = None,
        price_input: float | None = None,
        price_cached: float | None = None,
        price_output: float | None = None,
        price_cache_write: float | None = None,
        transcript: int = MAX_CHARACTERS,
        name: str = "agent",
    ) -> None:
        _check_model(policy, base_url, upstream, cuts=controls or control != "none")
        if transcript < 0:
            raise ConfigurationError(f"transcript is {transcript}, but must be 0 or more.")
        self._max_characters = transcript
        if max_turns < 1:
            raise ConfigurationError(f"max_turns is {max_turns}, but must be at least 1.")
        cut = Control(control, control_size)
        self._budget = Budget.of_options(
            max_cost, price_input, price_cached, price_output, price_cache_write
        )
        self._program = _program(config, command, program, env, pass_env)
        if self._program is not None:
            _check_policy(self._program, policy)
        if start_turns < 0 or (start_turns and (policy == "none" or self._program is not None)):
            raise ConfigurationError(
                f"start_turns is {start_turns}, but must be 0 or more, and needs agent:loop with policy=oracle."
            )
        self._start_turns = start_turns
        self.name = name
        self._model = model
        self._api_key = api_key or ""
        self._base_url = base_url
        self._server = None
        if policy == "oracle":
            self._server = _start(OraclePolicy(notes, max_turns), port, cut)
        elif upstream is not None:
            self._server = _start(_model(upstream, self._api_key, timeout), port, cut)
        self._has_controls = controls
        self._may_cut = base_url is not None or control != "none"
        self._retries = Retries()
        self._tap = None
        self._address = base_url or (self._server.url if self._server else "")
        try:
            self._failure_headers = FailureHeaders(failure_headers)
            self._endpoint = Endpoint.parse(self._address)
            self._http = HttpClient(Network(is_local=self._endpoint.is_local), timeout)
            if self._server is not None and base_url is not None:
                self._tap = Tap(base_url, timeout, self._failure_headers)
                self._address = self._tap.url
        except (EndpointURLError, ValueError, OSError) as error:
            self.close()
            raise ConfigurationError(f"agent: {error}") from error

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def close(self) -> None:
        """Stop the servers."""
        for server in (self._tap, self._server):
            if server is not None:
                server.close()
        self._tap = None
        self._server = None

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the agent did with a task.

        Args:
            example: A task: ``question``, ``files`` by path, ``limits``, and ``session`` with the ``messages`` to go on from.

        Returns:
            ``response``, the agent's last text; ``agent``, its counts and ``ended``; ``workspace``, the SHA-256 of each file at
            the end; ``changes``, the text of each changed file, both empty where the files are larger than the task allows; ``transcript`` as `Transcript.record` returns it. ``agent.logged`` has turns and calls of a program's own log.
            With ``controls``, ``random`` has the same of the matched control.

        Raises:
            ConfigurationError: The proxy answered, but forwarded no request with the row's key.
            DeclaredFailureError: A response header says that the proxy or the model did not do its work.
            EndpointError: The endpoint gave no usable reply to the first request.
        """
        output = self._attempt(example, None)
        share = output["agent"].get("kept_share")
        if self._has_controls and share is not None:
            matched = self._attempt(example, Control("random", share=share))
            matched.pop("transcript", None)
            output["random"] = matched
        return output

    def matched_controls(
        self,
    ) -> Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, Any]]]:
        """Return what ``--controls`` compares this arm with: the same agent without its proxy, with the results of tools cut at
        the share of their tokens that the arm kept, ``random``, ``head`` or ``clear-results``.

        Returns:
            By name, what returns the output for a task and this arm's output. Empty where nothing cuts: without a proxy and a
            control, and with ``policy=none``.
        """
        if self._server is None or not self._may_cut:
            return {}
        return {name: partial(self._matched, name) for name in MATCHED}

    def _matched(
        self, name: str, example: Mapping[str, Any], output: Mapping[str, Any]
    ) -> dict[str, Any]:
        counts = output.get("agent")
        share = counts.get("kept_share") if isinstance(counts, Mapping) else None
        if share is None:
            return {"control": {"name": name, "note": "the arm sent no result of a tool"}}
        matched = self._attempt(example, Control(name, share=min(share, 1.0)))
        return {**matched, "control": {"name": name, "share": share}}

    def _attempt(self, example: Mapping[str, Any], control: Control | None) -> dict[str, Any]:
        """Return what the agent did with a task, behind the proxy or, with a control, without it."""
        limits = {**DEFAULT_LIMITS, **(example.get("limits") or {})}
        with Workspace(example.get("files") or {}, limits["bytes"]) as workspace:
            session = example.get("session") or {}
            work = _Work(str(example["question"]), workspace, limits, session.get("messages") or ())
            transcript = Transcript(self._max_characters)
            ending, log = self._work(work, control, transcript)
            is_too_much = workspace.growth() > limits["bytes"]
            digests = {} if is_too_much else workspace.digests()
            changes = {} if is_too_much else workspace.changes()
        if is_too_much and ending.how in (FINISHED, GAVE_UP):
            ending = evolve(ending, how=BOUND)
        self._check_forwarded(log, ending)
        logged = {"logged": dict(ending.logged)} if ending.logged else {}
        stored = {"transcript": transcript.record()} if self._max_characters else {}
        return {
            "response": ending.text,
            "agent": {**log.record(), "ended": ending.how, **logged},
            "workspace": digests,
            "changes": changes,
            **stored,
        }

    def _work(
        self, work: _Work, control: Control | None, transcript: Transcript
    ) -> tuple[Ending, RequestLog]:
        """Return how the work ended, and the requests as the policy received them, or else as they were sent."""
        if work.session and (self._program is not None or self._start_turns):
            raise ConfigurationError(
                "The task goes on from a recorded session: that needs agent:loop without start_turns."
            )
        if self._server is None:
            loop = ToolLoop(
                self._http,
                self._endpoint,
                self._model,
                self._api_key,
                RequestLog(self._budget, _counts_of(work.session)),
                transcript=transcript,
                failure_headers=self._failure_headers,
                retries=self._retries,
            )
            run = partial(loop.run, work.task, work.workspace, work.limits, work.session)
            return _ending_of(run, loop.log), loop.log
        tap = self._tap if control is None else None
        address = self._server.url
        key = _KEY + token_hex(12)
        messages, earlier = self._recorded(work, self._server)
        log = RequestLog(self._budget, earlier, work.limits["turns"])
        self._server.begin(key, control, log, transcript)
        if tap is not None:
            address = tap.url
            tap.begin(key, log, transcript)
        try:
            ending = _ending_of(partial(self._run_agent, work, key, address, messages), log)
        finally:
            self._server.end(key)
            sent = None if tap is None else tap.end(key)
        if sent is not None:
            log.results_sent = sent.result_tokens
            if sent.failure is not None:
                raise declared_failure(self._endpoint.shown, sent.failure)
        if ending.how == FINISHED and log.gave_up:
            ending = evolve(ending, how=GAVE_UP)
        if log.stopped_by:
            ending = evolve(ending, how=BOUND, text=log.stopped_by)
        return ending, log

    def _recorded(
        self, work: _Work, server: PolicyServer
    ) -> tuple[Sequence[Mapping[str, Any]], RequestLog | None]:
        """Return the conversation from which each arm goes on, and its counts; nothing where it starts anew.

        Raises:
            ConfigurationError: The work ended before the arm begins.
        """
        if not self._start_turns:
            return work.session, _counts_of(work.session)
        key = _KEY + token_hex(12)
        server.begin(key, Control())
        loop = ToolLoop(self._http, Endpoint.parse(server.url), self._model, key)
        limits = {**work.limits, "turns": self._start_turns}
        try:
            ending = loop.run(work.task, work.workspace, limits)
        finally:
            log = server.end(key)
        if log.turns < self._start_turns or ending.how != BOUND:
            raise ConfigurationError(
                f"start_turns is {self._start_turns}, but a task ended after {log.turns} turns. Choose fewer."
            )
        return loop.messages, log

    def _run_agent(
        self, work: _Work, key: str, address: str, messages: Sequence[Mapping[str, Any]]
    ) -> Ending:
        """Return how the work on a task ended."""
        if self._program is not None:
            places = {"task": work.task, "base_url": address, "key": key, "model": self._model}
            return self._program.run(places, work.workspace, work.limits)
        loop = ToolLoop(
            self._http, Endpoint.parse(address), self._model, key, retries=self._retries
        )
        return loop.run(work.task, work.workspace, work.limits, messages)

    def _check_forwarded(self, log: RequestLog, ending: Ending) -> None:
        if log.turns == 0 and ending.how == FINISHED:
            raise ConfigurationError(
                f"{self._base_url} answered, but forwarded no request with the row's key to the policy at port "
                f"{self._server.url.rpartition(':')[2] if self._server else 0}. Let the proxy forward there, with the key of the request."
            )


def _ending_of(run: Callable[[], Ending], log: RequestLog) -> Ending:
    """Return how the work ended. Where the endpoint failed after it had answered, what that cost is kept: the row has not failed."""
    try:
        return run()
    except DeclaredFailureError:
        raise
    except EndpointError as error:
        if not log.requests:
            raise
        return Ending(REFUSED, str(error))


def _counts_of(session: Sequence[Mapping[str, Any]]) -> RequestLog | None:
    return RequestLog.of_session(session, list(TOOLS)) if session else None


def _program(
    config: str,
    command: Sequence[str] | None,
    program: str | None,
    env: Iterable[str],
    pass_env: Iterable[str],
) -> Program | None:
    """Return the program that works; None for the loop."""
    if command is not None:
        if config != LOOP or program is not None:
            raise ConfigurationError("command is an agent of its own: give no preset or program.")
        return Program.of_command(command, env, pass_env)
    if config == LOOP:
        if program is not None or env or pass_env:
            raise ConfigurationError("program, env and pass_env need a preset such as agent:codex.")
        return None
    return Program.of_preset(preset_of(config), program, env, pass_env)


def _check_policy(program: Program, policy: str) -> None:
    if policy == "none":
        raise ConfigurationError("policy=none is for agent:loop: a program needs policy=oracle.")
    why = program.preset.why_no_oracle
    if why:
        raise ConfigurationError(
            f"The oracle cannot replace the model of {program.preset.name}: {why}."
        )


def _check_model(policy: str, base_url: str | None, upstream: str | None, *, cuts: bool) -> None:
    """Check that something answers the requests, and that what cuts them receives them.

    Raises:
        ConfigurationError: It is not so.
    """
    if policy not in POLICIES:
        raise ConfigurationError(f"policy is {policy!r}, but must be oracle or none.")
    if policy == "oracle":
        if upstream is not None:
            raise ConfigurationError("upstream is a model, so it needs policy=none.")
        return
    if base_url is None and upstream is None:
        raise ConfigurationError("policy=none needs base_url or upstream, the address of a model.")
    if cuts and upstream is None:
        raise ConfigurationError(
            "control and controls need policy=oracle or upstream, which receive what is cut."
        )


def _model(url: str, api_key: str, timeout: float) -> ModelUpstream:
    try:
        return ModelUpstream(url, api_key, timeout)
    except (EndpointURLError, ValueError) as error:
        raise ConfigurationError(f"upstream: {error}") from error


def _start(policy: OraclePolicy | ModelUpstream, port: int, control: Control) -> PolicyServer:
    try:
        return PolicyServer(policy, port, control)
    except (OSError, OverflowError) as error:
        raise ConfigurationError(
            f"The policy cannot listen on 127.0.0.1:{port}: {error}. Choose another port."
        ) from error
