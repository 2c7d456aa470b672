"""The oracle policy: a pure function of the request, in three interfaces, streamed and not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from context_bench_agents_live import OraclePolicy, PolicyServer
from context_bench_agents_live.conversation import ToolCall, turns_of
from context_bench_agents_live.requests import RequestLog
from context_bench_http import HttpClient, Network
from context_bench_tasks import Check, digest_of, evidence_hunt

HUNT = evidence_hunt(1, 2)
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
PROPERTIES = {"read": ("path",), "write": ("path", "content")}


class Client:
    """Speaks one interface: keeps the conversation, sends it, and reads calls and text of a reply."""

    def __init__(self, dialect: str, url: str, stream: bool) -> None:
        self.dialect = dialect
        self.stream = stream
        self.url = url + PATHS[dialect]
        self.items: list[Any] = [{"role": "user", "content": HUNT["question"]}]
        self._http = HttpClient(Network(is_local=True), 60)

    def body(self) -> dict[str, Any]:
        schemas = {
            name: {"type": "object", "properties": {key: {"type": "string"} for key in keys}}
            for name, keys in PROPERTIES.items()
        }
        if self.dialect == "chat":
            tools: list[Any] = [
                {"type": "function", "function": {"name": name, "parameters": schema}}
                for name, schema in schemas.items()
            ]
        else:
            field = "parameters" if self.dialect == "responses" else "input_schema"
            tools = [
                {"type": "function", "name": name, field: schema}
                for name, schema in schemas.items()
            ]
        where = "input" if self.dialect == "responses" else "messages"
        return {"model": "oracle", "stream": self.stream, "tools": tools, where: self.items}

    def step(self) -> tuple[str, list[tuple[str, str, dict[str, Any]]]]:
        """Send the conversation; return text and calls as (id, name, arguments)."""
        headers = {"content-type": "application/json", "authorization": "Bearer cb-row-1"}
        answer = self._http.fetch_url(self.url, headers, json.dumps(self.body()).encode())
        assert answer.status == 200
        return getattr(self, f"_{self.dialect}")(answer.body.decode())  # type: ignore[no-any-return]

    def events(self, text: str) -> list[dict[str, Any]]:
        lines = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
        return [json.loads(line) for line in lines if line != "[DONE]"]

    def _chat(self, text: str) -> Any:
        if self.stream:
            message: dict[str, Any] = {"role": "assistant"}
            for event in self.events(text):
                message.update(event["choices"][0]["delta"])
            for call in message.get("tool_calls") or ():
                call.pop("index")
        else:
            message = json.loads(text)["choices"][0]["message"]
        self.items.append(message)
        calls = [
            (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
            for call in message.get("tool_calls") or ()
        ]
        return message.get("content") or "", calls

    def _responses(self, text: str) -> Any:
        if self.stream:
            events = self.events(text)
            output = events[-1]["response"]["output"]
            done = [e["item"] for e in events if e["type"] == "response.output_item.done"]
            assert done in (output, [])
        else:
            output = json.loads(text)["output"]
        self.items += output
        texts = [item["content"][0]["text"] for item in output if item["type"] == "message"]
        calls = [
            (item["call_id"], item["name"], json.loads(item["arguments"]))
            for item in output
            if item["type"] == "function_call"
        ]
        return "".join(texts), calls

    def _messages(self, text: str) -> Any:
        if self.stream:
            content: list[Any] = []
            for event in self.events(text):
                if event["type"] == "content_block_start":
                    assert event["index"] == len(content)
                    content.append(dict(event["content_block"]))
                elif event["type"] == "content_block_delta":
                    delta = event["delta"]
                    if "text" in delta:
                        content[event["index"]]["text"] += delta["text"]
                    else:
                        content[event["index"]]["input"] = json.loads(delta["partial_json"])
        else:
            content = json.loads(text)["content"]
        self.items.append({"role": "assistant", "content": content})
        texts = [block["text"] for block in content if block["type"] == "text"]
        calls = [
            (block["id"], block["name"], block["input"])
            for block in content
            if block["type"] == "tool_use"
        ]
        return "".join(texts), calls

    def add_result(self, call_id: str, result: str) -> None:
        if self.dialect == "chat":
            self.items.append({"role": "tool", "tool_call_id": call_id, "content": result})
        elif self.dialect == "responses":
            item = {"type": "function_call_output", "call_id": call_id, "output": result}
            self.items.append(item)
        else:
            block = {"type": "tool_result", "tool_use_id": call_id, "content": result}
            self.items.append({"role": "user", "content": [block]})


def work(client: Client) -> tuple[list[str], dict[str, str], str]:
    """Work on the hunt; return the paths that were read, the files at the end, and the last text."""
    files = dict(HUNT["files"])
    paths: list[str] = []
    for _ in range(70):
        text, calls = client.step()
        if not calls:
            return paths, files, text
        for call_id, name, arguments in calls:
            if name == "write":
                files[arguments["path"]] = arguments["content"]
                client.add_result(call_id, "written")
            else:
                paths.append(arguments["path"])
                client.add_result(call_id, files[arguments["path"]])
    raise AssertionError("The policy does not end.")


@pytest.mark.parametrize("notes", [False, True], ids=["plain", "notes"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", list(PATHS))
def test_the_hunt_is_solved_in_each_interface(dialect: str, stream: bool, notes: bool) -> None:
    with PolicyServer(OraclePolicy(notes=notes)) as server:
        server.begin("cb-row-1")
        client = Client(dialect, server.url, stream)
        paths, files, text = work(client)
        record = server.end("cb-row-1").record()
    assert text.startswith("finished")
    assert len(paths) == len(set(paths))
    check = Check.of_record(HUNT["check"])
    assert check.passes({path: digest_of(content) for path, content in files.items()})
    assert record["turns"] == len(paths) + 2
    assert record["calls"] == {"read": len(paths), "write": 1}
    noted = [
        text for turn in turns_of(dialect, client.body()) if turn.is_model for text in turn.texts
    ]
    assert any("rule order" in text for text in noted) == notes


def request(*messages: dict[str, Any], tools: Any = None) -> dict[str, Any]:
    described = tools or [
        {"function": {"name": "read", "parameters": {"properties": {"path": {}}}}},
        {"function": {"name": "write", "parameters": {"properties": {"path": {}}}}},
    ]
    return {
        "messages": [{"role": "user", "content": HUNT["question"]}, *messages],
        "tools": described,
    }


def exchange(path: str, result: str) -> list[dict[str, Any]]:
    function = {"name": "read", "arguments": json.dumps({"path": path})}
    return [
        {"role": "assistant", "tool_calls": [{"id": "c", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": result},
    ]


def test_the_same_request_gets_the_same_reply_whatever_was_asked_before() -> None:
    policy = OraclePolicy()
    first = policy.reply("chat", request())
    policy.reply("chat", request(*exchange("RULES.md", HUNT["files"]["RULES.md"])))
    assert policy.reply("chat", request()) == first
    assert first.calls[0].arguments == {"path": "RULES.md"}


def test_a_fact_that_is_no_longer_visible_is_read_again() -> None:
    rules = exchange("RULES.md", HUNT["files"]["RULES.md"])
    index = exchange("INDEX.md", HUNT["files"]["INDEX.md"])
    seen = OraclePolicy().reply("chat", request(*rules, *index))
    assert str(seen.calls[0].arguments["path"]).startswith("logs/")
    cleared = OraclePolicy().reply("chat", request(*exchange("RULES.md", "[cleared]"), *index))
    assert cleared.calls[0].arguments == {"path": "RULES.md"}


@pytest.mark.parametrize(("tries", "is_over"), [(1, False), (2, False), (3, True)])
def test_three_vain_tries_in_a_row_end_the_work(tries: int, is_over: bool) -> None:
    vain = [message for _ in range(tries) for message in exchange("RULES.md", "[cut]")]
    assert bool(OraclePolicy().reply("chat", request(*vain)).calls) != is_over
    other = exchange("INDEX.md", "[cut]")
    assert OraclePolicy().reply("chat", request(*vain, *other)).calls


def test_a_bound_of_turns_ends_the_work() -> None:
    messages = [*exchange("a", "x"), *exchange("b", "x")]
    assert OraclePolicy(max_turns=3).reply("chat", request(*messages)).calls
    assert OraclePolicy(max_turns=2).reply("chat", request(*messages)).text == "gave up: 2 turns"


def test_an_instruction_that_is_not_visible_ends_the_work() -> None:
    assert not OraclePolicy().reply("chat", {"messages": [], "tools": []}).calls
    assert "no tool" in OraclePolicy().reply("chat", {**request(), "tools": []}).text


@pytest.mark.parametrize(
    ("name", "schema", "expected"),
    [
        ("bash", {"command": {"type": "string"}}, {"command": "cat RULES.md"}),
        ("shell", {"command": {"type": "array"}}, {"command": ["bash", "-lc", "cat RULES.md"]}),
        ("exec_command", {"cmd": {"type": "string"}}, {"cmd": "cat RULES.md"}),
    ],
)
def test_a_shell_replaces_tools_for_files(name: str, schema: Any, expected: Any) -> None:
    tools = [{"type": "function", "name": name, "parameters": {"properties": schema}}]
    reply = OraclePolicy().reply("chat", request(tools=tools))
    assert (reply.calls[0].name, reply.calls[0].arguments) == (name, expected)


BASH = [
    {"function": {"name": "bash", "parameters": {"properties": {"command": {"type": "string"}}}}}
]


def shell(command: str, result: str, role: str = "assistant", text: str = "") -> list[Any]:
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    return [
        {"role": role, "content": text, "tool_calls": [{"id": "c", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": result},
    ]


def test_a_file_that_did_not_help_is_searched_for_the_fact_from_then_on() -> None:
    def command(*messages: Any) -> str:
        reply = OraclePolicy().reply("chat", request(*messages, tools=BASH))
        return str(reply.calls[0].arguments["command"]) if reply.calls else reply.text

    rules = shell("cat RULES.md", HUNT["files"]["RULES.md"])
    cut = shell("cat INDEX.md", "")
    search = "grep -F 'entry=1 asset=A1 ' INDEX.md"
    assert command(*rules, *cut) == search
    vain = shell(search, "")
    assert command(*rules, *cut, *vain) == search
    assert command(*rules, *cut, *vain, *vain).startswith("gave up: three reads")
    found = shell(search, "- entry=1 asset=A1 state=recorded digest=" + "0" * 32 + " next=-")
    assert command(*rules, *cut, *found) == "grep -F 'entry=1 asset=A2 ' INDEX.md"
    other = shell("cat logs/part-01.log", "")
    assert command(*rules, *cut, *other) == "cat INDEX.md"


def test_searches_of_a_file_that_was_read_are_re_reads() -> None:
    log = RequestLog()
    for command in ("cat a", "grep -F x a", "grep -F y a", "grep -F x b", "ls", "ls", "echo '"):
        log.add({}, "", [ToolCall("c", "bash", {"command": command})])
    assert log.record()["re_reads"] == 3


def test_notes_have_new_facts_only_where_a_proxy_changes_the_role_of_the_model() -> None:
    for role in ("assistant", "user"):
        rules = shell("cat RULES.md", HUNT["files"]["RULES.md"], role)
        index = shell("cat INDEX.md", HUNT["files"]["INDEX.md"], role, "rule order: ascending")
        text = OraclePolicy(notes=True).reply("chat", request(*rules, *index, tools=BASH)).text
        assert ("rule" in text, "entry=1" in text) == (False, True)


def test_what_is_not_a_request_is_refused() -> None:
    http = HttpClient(Network(is_local=True), 60)
    with PolicyServer(OraclePolicy()) as server:
        for path, body, status in (("/v1/x", b"{}", 404), ("/v1/responses", b"no", 400)):
            assert http.fetch_url(server.url + path, {}, body).status == status
        assert http.fetch_url(server.url + "/v1/models").status == 200
