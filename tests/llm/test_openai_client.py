"""The SDK at the wire: what it sends, what it takes from the environment, how much it reads; clients of the user's own."""

import asyncio
import gzip
import json
import shutil
import ssl
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType

import aiohttp
import httpx
import httpx2
import openai
import pytest
from aiohttp import web
from endpoint import HASTY, Endpoint, completion, endless, says, silent, status

from perslib.errors import BackboneError, DataError, MissingKey, PerslibError, Refused, Unreachable
from perslib.llm import RetryPolicy, backbone, event_loop
from perslib.llm.answerers.openai_client import find_cause

KEY = "sk-live-0123456789abcdefghij"
SMALL = b'{"choices": [{"message": {"content": "ok"}}]}'


class Anywhere(Endpoint):
    """An endpoint that answers at every path, as a proxy does."""

    def __init__(self):
        super().__init__()
        self.paths = []

    async def record(self, request):
        self.paths.append(request.raw_path)
        return await self.chat(request)

    def routes(self):
        return [web.post("/{path:.*}", self.record)]


def packed(content: bytes, code: int = 200):
    """A reply that is compressed, whatever was asked for."""

    async def fault(request, body):
        headers = {"Content-Encoding": "gzip", "Content-Type": "application/json; charset=punycode"}
        return web.Response(body=content, status=code, headers=headers)

    return fault


# -- how much is read ----------------------------------------------------------------------------------------


def test_a_compressed_reply_is_unpacked_and_measured_unpacked(server, model):
    server.next(packed(gzip.compress(SMALL)))
    assert model().ask("Small?").text == "ok"
    bomb = gzip.compress(b" " * 2**28)
    assert len(bomb) < 2**19
    server.next(packed(bomb))
    started = time.monotonic()
    assert "the reply is larger than 1 MB" in model().ask("Large?", max_tokens=1).error
    assert time.monotonic() - started < 5
    assert len(server.bodies) == 2


def test_what_cannot_be_unpacked_is_a_fault(server, model):
    server.next(packed(b"no gzip at all"))
    answer = model().ask("Hello?")
    assert (answer.text, answer.retries) == ("ok", 1)


@pytest.mark.parametrize("page", [b" " * 2**28, b"x" * 2**22])
def test_of_an_error_page_only_the_beginning_is_read(server, model, page):
    server.next(packed(gzip.compress(b'{"error": {"message": "kaput"}}' + page), 400))
    with pytest.raises(Refused, match="kaput"):
        model().ask("Hello?")


def test_an_error_page_without_end_is_a_passing_fault(server, model):
    async def fault(request, body):
        response = web.StreamResponse(status=503)
        await response.prepare(request)
        while True:
            await response.write(b"busy " * 5000)

    server.next(fault)
    assert model().ask("Hello?").retries == 1


# -- what is sent ----------------------------------------------------------------------------------------------


def test_variables_of_the_sdk_have_no_effect(server, model, monkeypatch):
    with Endpoint() as other:
        monkeypatch.setenv("OPENAI_BASE_URL", other.base_url)
        for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
            monkeypatch.setenv(f"OPENAI_{name}", "leaked")
        monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer leaked\nX-Other: leaked")
        monkeypatch.setenv("SOME_KEY", KEY)
        assert model().ask("Hello?").ok and model(key_env="SOME_KEY").ask("Again?").ok
        assert other.bodies == []
    without, with_key = server.headers
    assert "Authorization" not in without and with_key["Authorization"] == f"Bearer {KEY}"
    assert "leaked" not in str(server.headers) and not any(name.lower().startswith("x-") for name in without)


def test_passwords_of_netrc_are_not_sent(server, model, monkeypatch, tmp_path):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password leaked\ndefault login me password leaked\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert model().ask("Hello?").ok
    assert "Authorization" not in server.headers[0]


def test_headers_of_an_entry_win_and_are_plain_text(server, model):
    model(headers={"User-Agent": "me/1", "accept": "*/*"}).ask("Hello?")
    assert (server.headers[0]["User-Agent"], server.headers[0]["Accept"]) == ("me/1", "*/*")
    for value in ("研究", "a\nb"):
        with pytest.raises(DataError, match="plain ASCII"):
            model(headers={"X-Title": value})


def test_a_redirect_is_not_followed(server, model, monkeypatch):
    monkeypatch.setenv("SOME_KEY", KEY)
    with Endpoint() as other:

        async def fault(request, body):
            raise web.HTTPTemporaryRedirect(f"{other.base_url}/chat/completions")

        server.next(fault)
        with pytest.raises(Refused, match=r"refused \(307\).* check base_url"):
            model(key_env="SOME_KEY").ask("Hello?")
        assert other.bodies == []


def test_a_proxy_of_the_environment_is_used_but_not_for_this_machine(server, model, monkeypatch):
    with Anywhere() as proxy:
        monkeypatch.setenv("http_proxy", proxy.base_url.removesuffix("/v1"))
        assert model(base_url="http://models.invalid/v1").ask("Hello?").ok
        assert model().ask("Hello?").ok
    assert proxy.paths == ["http://models.invalid/v1/chat/completions"] and len(server.bodies) == 1


def test_a_proxy_that_cannot_be_used_is_named(model, monkeypatch):
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:9")
    with pytest.raises(BackboneError, match=r"names a SOCKS proxy for a\.invalid"):
        model(base_url="http://a.invalid/v1").ask("Hello?")
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:9")
    assert (
        "the proxy that the environment names does not answer" in model(base_url="http://b.invalid/v1").ask("H?").error
    )


def test_a_second_reply_that_nobody_asked_for_answers_no_question(server, model):
    async def twice(request, body):
        stray = json.dumps(completion("stray")).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(stray)
        asyncio.get_running_loop().call_later(0.02, request.transport.write, head + stray)
        return web.json_response(completion("first"))

    server.next(twice)
    asked = model()
    assert asked.ask("One?").text == "first"
    time.sleep(0.1)
    assert asked.ask("Two?").text == "ok"


@pytest.mark.filterwarnings("ignore:.*(BasicAuth|proxy_auth).* deprecated:DeprecationWarning")
def test_a_proxy_may_want_a_password(model, monkeypatch):
    with Anywhere() as proxy:
        monkeypatch.setenv("all_proxy", proxy.base_url.removesuffix("/v1").replace("//", "//me:secret@"))
        assert model(base_url="http://guarded.invalid/v1").ask("Hello?").ok
    assert proxy.headers[0]["Proxy-Authorization"] == "Basic bWU6c2VjcmV0"
    assert "Authorization" not in proxy.headers[0]


def test_more_than_a_hundred_calls_are_in_flight(server, model):
    server.latency = 2
    answers = model(concurrency=150, cache="off").ask_many(map(str, range(150)), progress=False)
    assert all(answer.ok for answer in answers) and server.most_in_flight == 150


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_certificates_are_checked(home, tmp_path):
    files = [str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2"]
    subprocess.run([*made, "-keyout", files[0], "-out", files[1]], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files[1], files[0])

    class Listening(ThreadingHTTPServer):
        def get_request(self):
            return context.wrap_socket(self.socket.accept()[0], server_side=True), None

    with Listening(("127.0.0.1", 0), BaseHTTPRequestHandler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            address = f"https://127.0.0.1:{listening.server_port}/v1"
            asked = backbone("openai", base_url=address, key_env="", patience=HASTY)
            with pytest.raises(Unreachable, match=r"(?i)certificate verify failed"):
                asked.ask("Hello?")
        finally:
            listening.shutdown()
            thread.join()


def test_an_address_that_is_none(home):
    with pytest.raises(BackboneError, match=r"No connection to http://\[::1/v1 can be made: .* Correct base_url"):
        backbone("vllm-qwen3-8b", base_url="http://[::1/v1").ask("Hello?")


def test_a_connection_that_takes_too_long_is_said_to():
    error = openai.APITimeoutError(request=httpx2.Request("GET", "http://host/v1", headers={"api-key": KEY}))
    error.__cause__ = late = aiohttp.ConnectionTimeoutError("Connection timeout to host")
    late.__cause__ = TimeoutError()
    assert find_cause(error) == (late, KEY, False)


def test_the_sdk_is_imported_with_the_first_call():
    look = "import sys, perslib.llm; print(sorted({'openai', 'aiohttp', 'httpx2'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# -- a client of the user's own -----------------------------------------------------------------------------


@pytest.fixture
def client(server):
    """A client of the user's, as `client(http_client=…)`."""
    made = []

    def make(**options):
        made.append(openai.AsyncOpenAI(**{"base_url": server.base_url, "api_key": KEY, **options}))
        return made[-1]

    yield make
    for own in made:
        event_loop.run_on_loop(own.close())


def test_a_client_brings_its_headers_and_credentials(server, model, client):
    own = client(default_headers={"X-Trace": "t1"}, http_client=httpx2.AsyncClient(headers={"X-Gateway": "g1"}))
    asked = model(client=own, key_env="NOT_SET", headers={"X-Project": "p1"}, query={"api-version": "1"})
    assert asked.ask("Hello?").text == "ok"
    (sent,) = server.headers
    assert [sent[name] for name in ("X-Trace", "X-Gateway", "X-Project")] == ["t1", "g1", "p1"]
    assert (sent["Authorization"], server.queries) == (f"Bearer {KEY}", [{"api-version": "1"}])
    assert server.bodies[0]["messages"] == [{"role": "user", "content": "Hello?"}]
    assert asked.ask("Hello?").cached


def test_tracing_of_a_client_sees_each_call(server, model, client):
    seen = []

    async def trace(request):
        seen.append(request.url.path)

    own = client(http_client=httpx2.AsyncClient(event_hooks={"request": [trace]}))
    send = own.request  # which instruments of the SDK put their own in place of

    async def traced(cast_to, options, **rest):
        seen.append(options.json_data["messages"][0]["content"])
        return await send(cast_to, options, **rest)

    own.request = traced
    asked = model(client=own)
    assert [asked.ask(text).text for text in ("one", "two", "one")] == ["ok"] * 3
    assert seen == ["one", "/v1/chat/completions", "two", "/v1/chat/completions"]


@pytest.mark.parametrize("http_client", [None, httpx2.AsyncClient, httpx.AsyncClient, openai.DefaultAioHttpClient])
def test_tries_of_a_client_are_ours_alone(server, model, client, http_client):
    server.reply = lambda body: status(503, "busy")
    own = client(max_retries=5, http_client=http_client and http_client())
    answer = model(client=own, patience=RetryPolicy(tries=3, backoff=0.01)).ask("Hello?")
    assert (answer.error, len(server.bodies)) == ("gave up after 3 tries: 503: busy", 3)
    assert own.max_retries == 5


@pytest.mark.parametrize("http_client", [httpx2.AsyncClient, httpx.AsyncClient, openai.DefaultAioHttpClient])
def test_what_breaks_with_a_client_is_said_as_without(server, model, client, http_client):
    server.next(endless(), silent(), status(401, f"no such key: {KEY}"))
    own = client(http_client=http_client())
    asked = model(client=own, timeout=0.3, patience=RetryPolicy(tries=2, backoff=0.01))
    assert asked.ask("Hello?").error == "gave up after 2 tries: no complete reply within 0.3 s"
    with pytest.raises(Refused, match=r"no such key: \[key\] — check the credentials of the client") as caught:
        asked.ask("Again?")
    assert KEY not in str(caught.value)
    nobody = client(base_url="http://127.0.0.1:9/v1", http_client=http_client())
    with pytest.raises(Unreachable, match=r"Nobody answers at http://127.0.0.1:9/v1"):
        model(client=nobody).ask("Hello?")


def test_a_client_that_fails_is_named(model, client):
    async def no_token():
        raise RuntimeError("no token today")

    broken, closed = client(api_key=no_token), client()
    event_loop.run_on_loop(closed.close())
    for own, words in ((broken, "no token today"), (closed, "closed")):
        with pytest.raises(BackboneError, match=rf"client of backbone .* failed \(RuntimeError: .*{words}"):
            model(client=own).ask("Hello?")


def test_a_key_from_a_file_is_hidden_with_its_line_end(model, client):
    answer = model(client=client(api_key=f"{KEY}\n"), patience=RetryPolicy(tries=1)).ask("Hello?")
    assert not answer.ok and KEY not in answer.error


def test_a_reply_of_a_client_is_measured_and_hides_its_key(server, model, client):
    asked = model(client=client())
    server.next(says("4" * 3 * 2**20, finish="length"), says(f"Your key is {KEY}"))
    assert "the reply is larger than 1 MB" in asked.ask("Score?", max_tokens=1).error
    assert asked.ask("Key?").text == "Your key is [key]"


def test_an_error_page_that_is_no_text_ends_only_its_own_call(server, model, client):
    async def fault(request, body):
        return web.Response(body=b"\xff\xfe", status=400, headers={"Content-Type": "text/plain; charset=punycode"})

    server.next(fault)
    assert model(client=client()).ask("Hello?").retries == 1


def test_half_a_character_goes_to_a_client_as_a_question_mark(server, model, client):
    assert model(client=client()).ask("half \ud83d").ok
    assert server.bodies[0]["messages"][0]["content"] == "half ?"


def test_the_address_of_a_client_counts_in_the_cache(server, model, client, home):
    assert model(client=client()).digest("Hello?") == model().digest("Hello?")
    assert model(client=client(), base_url="http://127.0.0.1:9/v1").digest("Hello?") == model().digest("Hello?")
    slash = f"{server.base_url}/"
    assert model(client=client(), base_url=slash).digest("Hello?") == model(base_url=slash).digest("Hello?")
    assert model(client=client(base_url="http://127.0.0.1:9/v1")).digest("Hello?") != model().digest("Hello?")


def test_an_azure_client_asks_its_deployment_with_its_token(model):
    tokens = iter(["first-token-0123", "second-token-0123"])
    with Anywhere() as azure:
        own = openai.AsyncAzureOpenAI(
            azure_endpoint=azure.base_url.removesuffix("/v1"),
            api_version="2026-01-01",
            azure_ad_token_provider=lambda: next(tokens),
        )
        azure.next(says("from Azure"), says("Your token is second-token-0123"))
        asked = model("azure", client=own, model="mine", cache="off")
        assert [asked.ask("Hello?").text, asked.ask("Again?").text] == ["from Azure", "Your token is [key]"]
    assert azure.paths == ["/openai/deployments/mine/chat/completions?api-version=2026-01-01"] * 2
    sent = [headers["Authorization"] for headers in azure.headers]
    assert sent == ["Bearer first-token-0123", "Bearer second-token-0123"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"client": openai.OpenAI(api_key=KEY)}, "an asynchronous client, not OpenAI: make AsyncOpenAI with the same"),
        ({"client": httpx2.AsyncClient()}, "not AsyncClient: make an AsyncOpenAI"),
        ({"scheduler": "local"}, "cannot be sent to the workers of a cluster"),
        ({"name": "embedded"}, "run by perslib itself: leave client out"),
    ],
)
def test_clients_that_cannot_be_used_are_refused(model, client, options, words):
    with pytest.raises(BackboneError, match=words) as caught:
        model(**{"client": client(), **options})
    assert KEY not in str(caught.value)


# -- Microsoft Entra ID -------------------------------------------------------------------------------------------


@pytest.fixture
def entra(monkeypatch):
    """A stand-in for azure-identity, whose tokens are listed in `tokens`; an error among them is raised."""
    module = ModuleType("azure.identity.aio")
    module.tokens, module.closed, module.scopes = [], [], []

    class DefaultAzureCredential:
        async def close(self):
            module.closed.append(self)

    def get_bearer_token_provider(credential, *scopes):
        module.scopes.extend(scopes)

        async def token():
            token = module.tokens.pop(0)
            if isinstance(token, Exception):
                raise token
            return token

        return token

    module.DefaultAzureCredential = DefaultAzureCredential
    module.get_bearer_token_provider = get_bearer_token_provider
    for name in ("azure", "azure.identity"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "azure.identity.aio", module)
    return module


def test_each_call_has_a_token_of_entra_that_no_error_shows(server, model, entra):
    entra.tokens = ["eyJ-first-token-0123456789", "eyJ-second-token-0123456789"]
    asked = model("azure-entra", key_env="")
    assert asked.ask("Hello?").ok
    server.next(status(401, "bad token: eyJ-second-token-0123456789"))
    with pytest.raises(Refused, match=r"bad token: \[key\] — .*role Cognitive Services OpenAI User"):
        asked.ask("Again?")
    assert [sent["Authorization"] for sent in server.headers] == [
        "Bearer eyJ-first-token-0123456789",
        "Bearer eyJ-second-token-0123456789",
    ]
    assert entra.scopes == ["https://cognitiveservices.azure.com/.default"]
    event_loop.run_on_loop(asked.client.transport.close())
    assert len(entra.closed) == 1


def test_no_token_of_entra_ends_the_run_at_once(server, model, entra):
    entra.tokens = [RuntimeError("DefaultAzureCredential failed:\n  run az login")]
    with pytest.raises(MissingKey, match=r"'azure-entra' has no token of Microsoft Entra ID: .*: run az login"):
        model("azure-entra").ask("Hello?")
    assert server.bodies == []


def test_entra_without_its_extra_names_it(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "azure.identity.aio", None)
    with pytest.raises(PerslibError, match=r"pip install .*\[azure\]"):
        model("azure-entra").ask("Hello?")
