"""The registry: our entries, the user's, and what is wrong with either."""

import dataclasses
import re

import pytest

from perslib.errors import DataError, UnknownName
from perslib.llm import BackboneEntry, Prices, backbone, entries
from perslib.llm.entries import ENTRY, OURS, entry


@pytest.fixture
def mine(home):
    """Writes the user's backbones.toml."""
    return (home / "backbones.toml").write_text


def test_a_model_file_goes_by_its_name_in_what_is_remembered():
    own = entry("gguf", model="models/some/Qwen3-4B-Q4_K_M.gguf")
    assert own.display_name == "Qwen3-4B-Q4_K_M.gguf"
    assert entry("openai").display_name == entry("openai").model


def test_our_entries_are_complete(home):
    found = entries()
    assert {"embedded", "vllm-qwen3-8b", "gguf"} <= found.keys()
    hosted = {"openai", "anthropic", "google", "deepseek", "moonshot", "zhipu", "dashscope", "minimax", "openrouter"}
    assert hosted <= found.keys()
    for name in hosted:
        assert found[name].base_url.startswith("https://")
        assert found[name].key_env.isupper()
        assert (found[name].prices is None) == (not found[name].prices_as_of), f"{name}: prices are dated"
    assert found["vllm-qwen3-8b"].extra_body == {"chat_template_kwargs": {"enable_thinking": False}}
    assert found["embedded"].languages == ("en",)


def test_every_field_is_checked_and_documented():
    names = {f.name for f in dataclasses.fields(BackboneEntry)} - {"name"}
    assert names == set(ENTRY.at(["entry", "properties"]))
    head = OURS.read_text(encoding="utf-8").split("\n[")[0]
    assert all(name in head for name in names - {"kind"})


def test_cost_by_the_price_table():
    prices = Prices(input=0.40, cached=0.10, output=1.60)
    # 600 fresh · 0.40 + 400 cached · 0.10 + 50 out · 1.60, per million
    assert prices.cost(1000, 400, 50) == pytest.approx((600 * 0.40 + 400 * 0.10 + 50 * 1.60) / 1e6)
    assert Prices(input=2, output=8).cost(1000, 400, 0) == pytest.approx(1000 * 2 / 1e6)


def test_the_users_file_adds_and_overrides_field_by_field(mine):
    mine('[openai]\nmodel = "gpt-x"\nconcurrency = 3\n\n[campus]\nbase_url = "http://gpu7:8000/v1"\nmodel = "m"\n')
    found = entries()
    assert (found["openai"].model, found["openai"].concurrency) == ("gpt-x", 3)
    assert found["openai"].key_env == "OPENAI_API_KEY"
    assert backbone("campus").model == "m"


def test_keyword_overrides(home):
    made = entry("openai", model="gpt-x", prices={"in": 1, "out": 2}, rpm=None)
    assert (made.model, made.prices) == ("gpt-x", Prices(1, 2))
    assert entry("openai", prices=Prices(1, 2), omit=("seed",), concurrency=3.0).concurrency == 3
    with pytest.raises(
        DataError, match=r"backbone\('openai'\): there is no field 'concurency'. Did you mean concurrency"
    ):
        backbone("openai", concurency=3)


def test_an_unknown_name_lists_the_near_ones(home):
    with pytest.raises(UnknownName, match=r"no backbone called 'opena'. Did you mean openai or openrouter\?"):
        backbone("opena")


def test_an_entry_without_a_model_says_so(home):
    with pytest.raises(DataError, match=r"has no model; give one: backbone\('gguf', model=…\)"):
        backbone("gguf")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("concurency = 3", "there is no field 'concurency'. Did you mean concurrency?"),
        ("zzz = 3", "there is no field 'zzz'. Known: kind, model"),
        ('rpm = "60"', 'rpm is "60", expected a whole number of at least 1'),
        ("rpm = 0", "rpm is 0, expected a whole number of at least 1"),
        ("concurrency = 2.5", "concurrency is 2.5, expected a whole number"),
        ("timeout = nan", "timeout is NaN, expected seconds, more than 0"),
        ("prices_as_of = 2025-04-01", 'prices_as_of is {"date": "2025-04-01"}, expected a date in quotes'),
        ("concurrency = 200000", "concurrency is 200000, expected a whole number from 1 to 4096"),
        ("concurrency = true", "concurrency is true, expected a whole number"),
        ('structured = "yaml"', 'structured is "yaml", expected schema, json, text or auto'),
        ("prices = { in = 1 }", "prices.out is missing, expected dollars per million tokens"),
        ("prices = 3", "prices is 3, expected { in = …, cached = …, out = … } per million tokens"),
        ("prices = { in = 1, out = -2 }", "prices.out is -2, expected dollars per million tokens"),
        ('base_url = "localhost:8000"', 'base_url is "localhost:8000", expected an address such as http'),
        ("logprobs = 1", "logprobs is 1, expected true or false"),
        (
            'api_key = "sk-secret-123"',
            "api_key is not shown here, expected no key in a file: name the environment variable",
        ),
        ('headers = { X-Api-Key = "sk-secret-1" }', "headers"),
        ("query = { a = 1 }", "query"),
        ('headers = { "A\\nB" = "x" }', "headers"),
        ('headers = { Content-Length = "3" }', "headers.Content-Length is a wrong key, expected the name of a header"),
        ('max_tokens_as = "messages"', 'max_tokens_as is "messages", expected max_tokens or'),
        ("extra_body = { a = [1, nan] }", "extra_body.a[1]: is nan, which JSON does not have"),
        ("extra_body = { a = { b = 2020-01-01 } }", "extra_body.a.b: is datetime.date(2020, 1, 1), which JSON"),
        ('key_env = "sk-secret-123"', "key_env is not shown here, expected the name of an environment variable"),
    ],
)
def test_mistakes_name_file_table_and_field(home, mine, line, words):
    mine(f"[campus]\n{line}\n")
    with pytest.raises(DataError) as caught:
        entries()
    assert re.search(re.escape(f"{home / 'backbones.toml'} [campus]") + ":? " + re.escape(words), str(caught.value))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("body", [{1: 2}, {"a": b"x"}, {"a": object()}, {"a": 10**5000}])
def test_what_json_does_not_have_is_refused(body):
    deep: dict = {}
    for _ in range(3000):
        deep = {"a": deep}
    for given in (body, deep):
        with pytest.raises(DataError, match=r"backbone\('openai'\)"):
            entry("openai", extra_body=given)


def test_numbers_of_thousands_of_digits_name_the_file(mine, home):
    mine(f"[campus]\nrpm = {'9' * 5000}\n")
    with pytest.raises(DataError, match="is not valid TOML: Exceeds the limit"):
        entries()


def test_all_mistakes_are_listed_at_once(mine):
    mine('top = 1\n[a]\nrpm = 0\n[b]\ntpm = "x"\n')
    with pytest.raises(DataError) as caught:
        entries()
    assert len(caught.value.problems) == 3


def test_broken_toml_names_the_file(home, mine):
    mine("[campus\n")
    with pytest.raises(DataError, match=r"backbones.toml: is not valid TOML: .* \(at line 1"):
        entries()


@pytest.mark.parametrize("address", ["http://u:sk-secret@host/v1", "http://host/v1?key=sk-secret"])
def test_a_key_in_an_address_is_refused_and_not_repeated(address):
    with pytest.raises(DataError) as error:
        entry("vllm-qwen3-8b", base_url=address)
    assert "sk-secret" not in str(error.value)
