"""A key that an endpoint repeats is seen nowhere, however it is spelled."""

import html
import json
import sqlite3
import zlib

import pytest
from endpoint import raw, status
from hypothesis import given, settings
from hypothesis import strategies as st
from openai import AsyncOpenAI

from perslib.errors import BackboneError, Refused
from perslib.llm import Request
from perslib.llm.answerers.hidden_keys import hide_keys
from perslib.report.run.manifest import without_secrets

KEY = "sk-proj_0123/456789<abc>DEF.ghi"


def by_code(text, every=1):
    return "".join(f"\\u{ord(c):04x}" if i % every == 0 else json.dumps(c)[1:-1] for i, c in enumerate(text))


def by_number(text, form="&#{};"):
    return "".join(form.format(ord(c)) for c in text)


def as_json(text):
    return json.dumps(text)[1:-1]


SPELLINGS = {
    "plain": KEY,
    "codes": by_code(KEY),
    "codes of every second letter": by_code(KEY, 2),
    "capital codes": by_code(KEY).upper().replace("\\U", "\\u"),
    "slashes": KEY.replace("/", r"\/"),
    "HTML": html.escape(KEY),
    "HTML twice": html.escape(html.escape(KEY)),
    "numbers": by_number(KEY),
    "hexadecimal numbers": by_number(KEY, "&#x{:X};"),
    "long numbers": by_number(KEY, "&#{:09d};"),
    "numbers in HTML": html.escape(by_number(KEY)),
    "names": KEY.replace("_", "&lowbar;").replace("/", "&sol;").replace(".", "&period;"),
    "codes in JSON in JSON": as_json(as_json(by_code(KEY, 3))),
    "codes of numbers": by_code(by_number(KEY)),
    "numbers of codes": by_number(by_code(KEY)),
    "HTML of codes": html.escape(by_code(KEY)),
}


@pytest.fixture(params=SPELLINGS)
def spelled(request):
    return SPELLINGS[request.param]


@pytest.fixture
def asked(model, monkeypatch):
    monkeypatch.setenv("SOME_NAME", KEY)
    return model(key_env="SOME_NAME")


def reads(text):
    """All that a reader makes of a text who undoes JSON and HTML in turn."""
    seen = {text}
    for _ in range(6):
        read = html.unescape(text)
        try:
            read = json.loads(f'"{read}"')
        except ValueError:
            read = json.loads('"' + read.replace('"', r"\"") + '"') if "\\u" in read else read
        if read == text:
            break
        text = read
        seen.add(text)
    return seen


def is_shown(text):
    return any(KEY in read for read in reads(text))


def test_the_test_reads_what_is_spelled(spelled):
    assert is_shown(spelled)


def test_every_field_of_a_reply(server, asked, spelled, home):
    message = {"content": f"it is {spelled}", "reasoning_content": f"hm, {spelled}"}
    reply = {"model": f"m-{spelled}", "choices": [{"message": message, "finish_reason": "stop"}]}
    server.next(raw(json.dumps(reply)))
    answer = asked.ask("Hello?")
    assert (answer.text, answer.reasoning, answer.model) == ("it is [key]", "hm, [key]", "m-[key]")
    with sqlite3.connect(home / ".perslib/cache.sqlite") as db:
        kept = [row for table in ("entries", "sent", "texts") for row in db.execute(f"SELECT body FROM {table}")]
    assert len(kept) >= 2
    for (body,) in kept:
        text = (zlib.decompress(body) if body[:1] == b"\x78" else body).decode()
        assert not is_shown(text)


def test_a_structured_reply(server, asked, spelled):
    schema = {"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]}
    content = f'{{"why": "{spelled}"}}' if spelled == json.dumps(spelled)[1:-1] else json.dumps({"why": spelled})
    server.next(raw(json.dumps({"choices": [{"message": {"content": content}}]})))
    assert asked.ask_many([Request("Why?", schema=schema)], progress=False)[0].data == {"why": "[key]"}


@pytest.mark.parametrize(
    "literal",
    [
        r"'\x73k-proj" + KEY[7:] + "'",
        r"'\163k-proj" + KEY[7:] + "'",
        r"'\U00000073k-proj" + KEY[7:] + "'",
        r"'\N{LATIN SMALL LETTER S}k-proj" + KEY[7:] + "'",
        f"'{KEY[:5]}\\\n{KEY[5:]}'",
        f"'{KEY[:5]}' '{KEY[5:]}'",
        f"('{KEY[:5]}' # half\n '{KEY[5:]}')",
    ],
)
def test_a_text_that_only_python_can_read_shows_no_key(server, asked, literal):
    schema = {"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]}
    server.next(*[raw(json.dumps({"choices": [{"message": {"content": f"{{'why': {literal}}}"}}]}))] * 2)
    answer = asked.ask_many([Request("Why?", schema=schema)], progress=False)[0]
    assert answer.data in (None, {"why": "[key]"}) and not is_shown(str(answer))


@pytest.mark.parametrize("code", [200, 400, 401])
def test_refusals(server, asked, spelled, code):
    if code == 200:
        server.next(raw(json.dumps({"error": {"code": 400, "message": f"no such key: {spelled}"}})))
    else:
        server.next(status(code, f"no such key: {spelled}"))
    with pytest.raises(Refused) as caught:
        asked.ask("Hello?")
    assert "no such key: [key]" in str(caught.value)


def test_an_error_page(server, asked, spelled, capfd):
    server.next(*[raw(f"<html><b>{spelled}</b></html>", "text/html")] * 4)
    answer = asked.ask("Hello?")
    assert "[key]" in answer.error
    assert not is_shown(answer.error)
    assert not any(map(is_shown, capfd.readouterr()))


def test_a_refused_answer(server, asked, spelled):
    message = {"content": None, "refusal": f"I never say {spelled}"}
    server.next(raw(json.dumps({"choices": [{"message": message}]})))
    assert asked.ask("Hello?").error == "the model refused: I never say [key]"


def test_pages(home, monkeypatch, spelled):
    (home / "backbones.toml").write_text('[mine]\nbase_url = "http://127.0.0.1:9/v1"\nkey_env = "MY_PASS"\n')
    monkeypatch.setenv("MY_PASS", KEY)
    assert without_secrets(f"<p>{spelled}</p> &lt;") == "<p>[MY_PASS]</p> &lt;"


def test_two_keys_in_one_text_and_one_within_the_other():
    marks = {"abcdefghijkl": "[A]", "abcdefghijklmno": "[B]"}
    assert hide_keys("abcdefghijkl &#97;bcdefghijklmno, x", marks) == "[A] [B], x"


@settings(deadline=None)
@given(st.text(alphabet='ab&#;\\u0061x3&amp"/<', max_size=60))
def test_other_texts_are_left_as_they_are(text):
    assert hide_keys(text, {KEY: "[key]"}) == text


@settings(deadline=None)
@given(st.text(st.characters(min_codepoint=0, max_codepoint=126), min_size=8, max_size=30))
def test_a_key_with_any_character_is_hidden_as_python_and_json_write_it(between):
    key = f"SECRET1{between}SECRET2"
    for shown in (repr(key), repr(key.encode()), json.dumps(key), key):
        assert hide_keys(f"Illegal header value {shown}", {key: "[key]"}).count("SECRET") == 0


@pytest.mark.parametrize("within", ["\n", "\r\n", "\0", "'\n"])
def test_a_key_of_an_own_client_that_no_header_takes_is_not_in_the_reason(server, model, within):
    key = f"SECRET1{within}SECRET2"
    client = AsyncOpenAI(api_key=key, base_url=server.base_url)
    answer = model(client=client, key_env="").ask("Hello?")
    assert "Illegal header value" in answer.error and "[key]" in answer.error and "SECRET" not in answer.error


def test_a_key_of_an_own_client_that_fails_by_itself_is_not_in_the_error(server, model):
    class Failing(AsyncOpenAI):
        async def post(self, *given, **options):
            raise RuntimeError(f"no post with {self.api_key!r}")

    with pytest.raises(BackboneError, match=r"no post with '\[key\]'"):
        model(client=Failing(api_key="SECRET1\nSECRET2", base_url=server.base_url), key_env="").ask("Hello?")
