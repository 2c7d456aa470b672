from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench_openai import Endpoint, EndpointURLError, OpenAIProxy

ACCEPTED = [
    # written, called, label
    ("http://host:8080", "http://host:8080/v1/chat/completions", "host:8080"),
    ("http://host:8080/", "http://host:8080/v1/chat/completions", "host:8080"),
    ("http://host:8080/v1", "http://host:8080/v1/chat/completions", "host:8080"),
    ("http://host:8080/v1/", "http://host:8080/v1/chat/completions", "host:8080"),
    ("http://host:8080//v1//", "http://host:8080/v1/chat/completions", "host:8080"),
    ("http://host/v1/chat/completions", "http://host/v1/chat/completions", "host"),
    ("http://host/chat/completions/", "http://host/chat/completions", "host"),
    ("  http://host:8080\n", "http://host:8080/v1/chat/completions", "host:8080"),
    ("HTTP://HOST:8080/v1", "http://host:8080/v1/chat/completions", "host:8080"),
    ("http://host:80", "http://host/v1/chat/completions", "host"),
    ("https://host:443/v1", "https://host/v1/chat/completions", "host"),
    ("https://host:80", "https://host:80/v1/chat/completions", "host:80"),
    ("http://my_service:8000", "http://my_service:8000/v1/chat/completions", "my_service:8000"),
    (
        "https://api.example.com/openai/v1",
        "https://api.example.com/openai/v1/chat/completions",
        "api.example.com",
    ),
    (
        "https://api.example.com/api/v3",
        "https://api.example.com/api/v3/chat/completions",
        "api.example.com",
    ),
    (
        "https://g.example.com/v1beta/openai/",
        "https://g.example.com/v1beta/openai/chat/completions",
        "g.example.com",
    ),
    (
        "https://proxy.example.com/team-a",
        "https://proxy.example.com/team-a/v1/chat/completions",
        "proxy.example.com",
    ),
    (
        "https://x.example.com/openai/deployments/mini?api-version=2024-10-21",
        "https://x.example.com/openai/deployments/mini/chat/completions?api-version=2024-10-21",
        "x.example.com",
    ),
    ("http://h/v1#part", "http://h/v1/chat/completions", "h"),
    ("localhost", "http://localhost/v1/chat/completions", "localhost"),
    ("localhost:8080", "http://localhost:8080/v1/chat/completions", "localhost:8080"),
    ("localhost:8080/v1/", "http://localhost:8080/v1/chat/completions", "localhost:8080"),
    ("//localhost:8080", "http://localhost:8080/v1/chat/completions", "localhost:8080"),
    ("127.0.0.1:7878", "http://127.0.0.1:7878/v1/chat/completions", "127.0.0.1:7878"),
    ("0.0.0.0:7878", "http://0.0.0.0:7878/v1/chat/completions", "0.0.0.0:7878"),
    ("[::1]:7878", "http://[::1]:7878/v1/chat/completions", "[::1]:7878"),
    ("http://[::1]", "http://[::1]/v1/chat/completions", "[::1]"),
    ("http://[2001:db8::7]:9/v1", "http://[2001:db8::7]:9/v1/chat/completions", "[2001:db8::7]:9"),
    (
        "http://münchen.example",
        "http://xn--mnchen-3ya.example/v1/chat/completions",
        "münchen.example",
    ),
    ("http://user:pass@host:1", "http://host:1/v1/chat/completions", "host:1"),
    ("user:pass@localhost:1", "http://localhost:1/v1/chat/completions", "localhost:1"),
]

PUBLISHED = [
    # as providers publish it, called
    ("https://models.github.ai/inference", "https://models.github.ai/inference/chat/completions"),
    (
        "https://models.github.ai/orgs/acme/inference",
        "https://models.github.ai/orgs/acme/inference/chat/completions",
    ),
    (
        "https://models.inference.ai.azure.com",
        "https://models.inference.ai.azure.com/chat/completions",
    ),
    (
        "https://x.services.ai.azure.com/models?api-version=2024-05-01-preview",
        "https://x.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview",
    ),
    (
        "https://x.openai.azure.com/openai/v1/?api-version=preview",
        "https://x.openai.azure.com/openai/v1/chat/completions?api-version=preview",
    ),
    (
        "https://adb-1.azuredatabricks.net/serving-endpoints",
        "https://adb-1.azuredatabricks.net/serving-endpoints/chat/completions",
    ),
    (
        "https://dbc-1.cloud.databricks.com/serving-endpoints/",
        "https://dbc-1.cloud.databricks.com/serving-endpoints/chat/completions",
    ),
    ("https://api.deepseek.com", "https://api.deepseek.com/v1/chat/completions"),
    ("https://api.deepseek.com/beta", "https://api.deepseek.com/beta/chat/completions"),
    ("https://api.perplexity.ai", "https://api.perplexity.ai/chat/completions"),
    ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/chat/completions"),
    ("https://api.groq.com/openai/v1", "https://api.groq.com/openai/v1/chat/completions"),
    (
        "https://generativelanguage.googleapis.com/v1beta/openai/",
        "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
    ),
    ("https://api.deepinfra.com/v1/openai", "https://api.deepinfra.com/v1/openai/chat/completions"),
    ("https://api.z.ai/api/paas/v4/", "https://api.z.ai/api/paas/v4/chat/completions"),
    (
        "https://proxy.example.com/inference",
        "https://proxy.example.com/inference/v1/chat/completions",
    ),
    ("https://deepseek.com.example/beta", "https://deepseek.com.example/beta/v1/chat/completions"),
]

REFUSED = [
    # written, what the refusal says
    ("", "is empty"),
    ("   ", "is empty"),
    ("api.example.com", "there is no scheme; write 'https://HOST' or 'http://HOST:PORT'"),
    ("api.example.com/v1", "there is no scheme"),
    ("gpu-box:8000", "there is no scheme"),
    ("192.168.0.7:8000", "there is no scheme"),
    ("user:hunter22@host", "there is no scheme"),
    ("localhost.example.com:80", "there is no scheme"),
    ("/v1", "there is no scheme"),
    ("http:/localhost", "there is no scheme"),
    ("ftp://host", "the scheme is 'ftp'; it must be http or https"),
    ("htp://host", "the scheme is 'htp'"),
    ("file:///etc/passwd", "the scheme is 'file'"),
    ("http://", "there is no host"),
    ("http:///v1", "there is no host"),
    ("http://:8080", "there is no host"),
    ("http://user@", "there is no host"),
    ("http://host:", "the port must be a number from 1 to 65535"),
    ("http://host:0", "the port must be a number"),
    ("http://host:65536", "the port must be a number"),
    ("http://host:http", "the port must be a number"),
    ("http://host:-1", "the port must be a number"),
    ("http://::1:8080", "http"),
    ("http://2001:db8::7/v1", "stands in brackets"),
    ("http://[::1", "Invalid IPv6"),
    ("http://[::zz]:1", "IPv6"),
    ("http://ho st", "white space"),
    ("http://host/\nv1", "white space"),
    ("http://host\x00", "control character"),
    ("http:\\\\host", "backslash"),
    ("http://ho*st", "no host name"),
    ("http://${HOST}:80", "no host name"),
]


@pytest.mark.parametrize(("written", "called", "label"), ACCEPTED, ids=[row[0] for row in ACCEPTED])
def test_a_base_url_is_accepted_as_people_write_it(written: str, called: str, label: str) -> None:
    endpoint = Endpoint.parse(written)
    assert endpoint.url == called
    assert endpoint.label == label


@pytest.mark.parametrize(("written", "reason"), REFUSED, ids=[repr(row[0]) for row in REFUSED])
def test_an_unusable_base_url_is_refused_in_one_line_before_any_call(
    written: str, reason: str
) -> None:
    with pytest.raises(EndpointURLError) as caught:
        OpenAIProxy(written, api_key="")
    message = str(caught.value)
    assert reason in message
    assert "\n" not in message
    assert "hunter22" not in message


def test_a_base_url_that_is_no_text_is_refused() -> None:
    with pytest.raises(EndpointURLError, match="not NoneType"):
        OpenAIProxy(None)  # type: ignore[arg-type]


@given(st.text())
def test_any_text_is_an_endpoint_or_a_one_line_refusal(text: str) -> None:
    try:
        line = Endpoint.parse(text).url
    except EndpointURLError as refusal:
        line = str(refusal)
    assert len(line.splitlines()) == 1


@given(st.sampled_from(ACCEPTED))
def test_parsing_what_was_parsed_changes_nothing(row: tuple[str, str, str]) -> None:
    assert Endpoint.parse(Endpoint.parse(row[0]).url).url == row[1]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("http://localhost:7878", "openai_proxy_localhost:7878"),
        ("http://localhost:8787/v1", "openai_proxy_localhost:8787"),
        ("https://api.example.com", "openai_proxy_api.example.com"),
        ("http://[::1]:80", "openai_proxy_[::1]"),
        ("http://user:pass@host:1", "openai_proxy_host:1"),
    ],
)
def test_a_system_without_a_name_is_called_after_host_and_port(written: str, name: str) -> None:
    assert OpenAIProxy(written, api_key="").name == name


def test_two_proxies_on_one_host_have_different_names() -> None:
    names = {OpenAIProxy(f"localhost:{port}", api_key="").name for port in (7878, 8787)}
    assert len(names) == 2


@pytest.mark.parametrize(
    "written",
    [
        "https://host/v1?key=s3cret-value&api-version=2",
        "https://host/v1?api_key=s3cret-value&api-version=2",
        "https://me:s3cret-value@host/v1?api-version=2",
        "https://host/v1?api-version=2&access_token=s3cret-value",
    ],
)
def test_secrets_in_a_base_url_are_not_shown(written: str) -> None:
    endpoint = Endpoint.parse(written)
    system = OpenAIProxy(written, api_key=None)
    for shown in (
        endpoint.shown,
        repr(endpoint),
        repr(system),
        system.name,
        repr(system.fingerprint()),
    ):
        assert "s3cret" not in shown
    assert "api-version=2" in endpoint.shown


REDIRECTS = [
    ("http://host:1/v1", "/v1/chat/completions/", "http://host:1/v1/chat/completions/"),
    ("http://host:1/v1", "http://host:1/other", "http://host:1/other"),
    ("http://host/v1", "http://host:80/other", "http://host/other"),
    ("http://host:1/v1", "http://host:2/other", None),
    ("http://host:1/v1", "http://elsewhere:1/other", None),
    ("http://host:1/v1", "//elsewhere/other", None),
    ("http://host:1/v1", "https://host:1/other", None),
    ("https://host/v1", "http://host/other", None),
    ("http://host:1/v1", "http://host:1@elsewhere/", None),
    ("http://host:1/v1", "http://host.elsewhere:1/", None),
    ("http://host:1/v1", "http://[", None),
    ("http://host:1/v1", "file:///etc/passwd", None),
]


@pytest.mark.parametrize(
    ("base", "location", "followed"), REDIRECTS, ids=[row[1] for row in REDIRECTS]
)
def test_a_redirect_stays_on_its_host(base: str, location: str, followed: str | None) -> None:
    there = Endpoint.parse(base).follow(location)
    assert (there.url if there else None) == followed


@pytest.mark.parametrize(("written", "called"), PUBLISHED)
def test_base_urls_are_called_as_providers_publish_them(written: str, called: str) -> None:
    assert Endpoint.parse(written).url == called
    embeddings = called.replace("chat/completions", "embeddings")
    assert Endpoint.parse(written).at("embeddings").url == embeddings
