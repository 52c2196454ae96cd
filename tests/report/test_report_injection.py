"""Text that strangers wrote reaches a page as text: no markup, no script, no picture, no terminal colours."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import tiny_corpus

from perslib.corpus import save
from perslib.errors import ReportError
from perslib.report import run_report
from perslib.report.page.markup import narrative, prose, reply, safe_html
from perslib.report.page.rendering import output_html
from perslib.report.show.html import conversation_html, reply_html, table_html
from perslib.report.show.latex import latex_table
from perslib.text import remove_ansi, show_hidden

FIXTURES = Path(__file__).parent / "notebooks"


class Elements(HTMLParser):
    """What a browser makes of a page: its elements with their attributes, and the text between them."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.elements, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)

    def harmless(self) -> bool:
        tags = {tag for tag, _ in self.elements}
        attributes = [(k, v or "") for _, attrs in self.elements for k, v in attrs.items()]
        loads = [v for k, v in attributes if k in ("src", "srcset", "poster", "data", "action", "xlink:href")]
        return (
            not tags & {"script", "iframe", "object", "embed", "form", "base", "svg", "math", "link"}
            and not [k for k, _ in attributes if k.startswith("on")]
            and all(v.startswith("data:image/") for v in loads)
            and not [v for k, v in attributes if k == "href" and re.match(r"\s*(javascript|data|vbscript):", v, re.I)]
        )


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    home = tmp_path_factory.mktemp("hostile")
    save(tiny_corpus(), home / "data" / "tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERSLIB_HOME", str(home))
        with pytest.raises(ReportError):
            run_report(FIXTURES / "hostile.ipynb", corpus="tiny")
    return (home / "reports" / "tiny" / "none" / "hostile.html").read_text("utf-8")


def cell(page: str, number: int) -> str:
    """What a cell of the page shows, without its folded code."""
    part = page.split(f'id="cell-{number}"')[1].split("</section>")[0]
    return part.split('<details class="code">')[0]


@pytest.mark.kernel
def test_the_page_has_no_element_that_acts(page):
    assert Elements(page).harmless()
    assert "\x1b" not in page and "\u202e" not in page


@pytest.mark.kernel
@pytest.mark.parametrize("number", [3, 4, 5, 6], ids=["conversation", "profile", "table", "repr and print"])
def test_every_way_to_show_it_shows_it_as_text(page, number):
    shown = Elements(cell(page, number))
    for piece in (
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(2)>",
        "![picture](https://tracker.example/p.png)",
    ):
        assert piece in shown.text, piece
    assert "{{ 7 * 7 }} {% raw %}" in shown.text and "49" not in shown.text
    assert "$x^2$" in shown.text


@pytest.mark.kernel
def test_controls_are_marks_in_conversations(page):
    shown = Elements(cell(page, 3)).text
    assert "⟨U+001B⟩[31mred⟨U+001B⟩[0m" in shown and "⟨U+202E⟩evil⟨U+202C⟩" in shown


@pytest.mark.kernel
def test_long_replies_are_folded_and_complete(page):
    part = cell(page, 3)
    assert 'class="pl-more"' in part
    assert Elements(part).text.count("<script>alert(1)</script>") == 1 + 1 + 20 + 1  # title, request, reply, reason


@pytest.mark.kernel
def test_markdown_html_svg_and_javascript_outputs(page):
    part = cell(page, 7)
    assert "<script>alert(1)</script>" in Elements(part).text
    assert "alert(4)" not in part
    assert 'src="data:image/svg+xml;base64,' in part  # a picture: scripts in it do not run
    assert "tracker.example" in Elements(part).text


@pytest.mark.kernel
def test_an_error_message_is_text_too(page):
    banner = page.split('id="failure"')[1].split("</aside>")[0]
    assert "<script>alert(1)</script>" in Elements(banner).text


def test_saved_tables_keep_the_text_and_latex_escapes_it():
    frame = pd.DataFrame({"a_b": ["100% & $x$ {y} \\input{/etc/passwd} ~^#"]})
    tex = latex_table(frame, "t", "50% of_it")
    row = next(line for line in tex.splitlines() if line.startswith("100"))
    assert row == r"100\% \& \$x\$ \{y\} \textbackslash{}input\{/etc/passwd\} \textasciitilde{}\textasciicircum{}\# \\"
    assert r"\caption{50\% of\_it}" in tex and r"a\_b \\" in tex


ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<img src='https://tracker.example/x.png'>",
    "<svg onload=alert(1)>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--><img src=x onerror=alert(1)>'>",
    "<a href='javascript:alert(1)'>x</a>",
    "<a href=' java\tscript:alert(1)'>x</a>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    "<iframe src='https://tracker.example'></iframe>",
    "<style>@import 'https://tracker.example/x.css';</style>",
    "<style>a{background:url(https://tracker.example)}</style>",
    "<p style='background:url(https://tracker.example)'>x</p>",
    "<details ontoggle=alert(1) open>x</details>",
    "<form action='https://tracker.example'><input name=a></form>",
    "<meta http-equiv=refresh content='0;url=https://tracker.example'>",
    "<base href='https://tracker.example'>",
    "</style><script>alert(1)</script>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "[x](javascript:alert(1)) <javascript:alert(1)> ![x](https://tracker.example/x.png)",
    # Text that one parser takes for markup and another for text.
    '<style><p title="</style><img src=x onerror=alert(1)>">',
    "<p title='<style>'></p><style>@import</style><b title='\">< onmouseover=alert(1) '>x</b>",
    "<table><style><!--</style><b title='--><img src=x onerror=alert(1)>'>",
    "<select><style></select><img src=x onerror=alert(1)></style>",
    "<title><style></title><img src=x onerror=alert(1)></style>",
    "<textarea><style></textarea><img src=x onerror=alert(1)></style>",
    "<xmp><style></xmp><img src=x onerror=alert(1)></style>",
    "<plaintext><style></plaintext><img src=x onerror=alert(1)></style>",
    "<svg><style>&lt;/style>&lt;img src=x onerror=alert(1)></style></svg>",
    "<math><style>&lt;/style>&lt;img src=x onerror=alert(1)></style></math>",
    "<svg><desc><style>&lt;/style>&lt;img src=x onerror=alert(1)></style></desc></svg>",
    "<svg><a xlink:href='javascript:alert(1)'>x</a></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x></svg>",
    "<form><math><mtext></form><form><mglyph><style></math><img src=x onerror=alert(1)>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "<?xml <img src=x onerror=alert(1)> ?>",
    "<img src='data:text/html,<script>alert(1)</script>'>",
    "<img srcset='https://tracker.example/x.png 2x' src='data:image/png;base64,AA=='>",
    "<video poster='https://tracker.example/x.png'><source src='https://tracker.example/x'></video>",
    "<a href='java&#10;script:alert(1)'>x</a><a href='&#1;javascript:alert(1)'>x</a><a href='vbscript:x'>x</a>",
    "<p style='position:fixed;color:red;behavior:url(#x)'>x</p>",
    "<template><img src=x onerror=alert(1)></template>",
    "<object data='https://tracker.example'></object><embed src='https://tracker.example'>",
    "<link rel=stylesheet href='https://tracker.example/x.css'>",
    "<frameset onload=alert(1)><frame src='https://tracker.example'></frameset>",
]
#: Declarations beside `color: red`, each written so that a careless reader takes it for a part of another one.
STYLES = [
    "position: fixed", "POSITION:fixed", "/**/position:fixed", "font-family: 'a;position:fixed;'; top: 0", "width: 1px;;position :fixed",
    "background: u\\72l(https://tracker.example)", "width: expression(alert(1))", "z-index: 9; margin: 0} p {position: fixed",
    "-moz-binding: none", "--x: 1; content: 'x'",
]  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("way", [safe_html, prose, narrative, reply])
def test_known_attacks_do_nothing(way, attack):
    shown = way(f"before {attack} after")
    assert Elements(shown).harmless()
    styles = re.findall(r"<style[^>]*>(.*?)</style>", shown, re.DOTALL) + re.findall(r'style="([^"]*)"', shown)
    assert not [s for s in styles if "tracker.example" in s]
    assert "meta" not in {tag for tag, _ in Elements(shown).elements}


@pytest.mark.parametrize("style", STYLES)
def test_of_a_style_only_harmless_properties_stay(style):
    shown = safe_html(f'<p style="color: red; {style}">x</p>')
    left = (dict(Elements(shown).elements[0][1]).get("style") or "").split(";")
    assert {piece.partition(":")[0].strip() for piece in left} <= {"", "color", "font-family", "width", "margin"}
    assert "tracker" not in shown and "expression" not in shown


@given(st.text())
def test_any_text_is_shown_as_itself_in_a_table(text):
    shown = Elements(table_html(pd.DataFrame({"column": [text]})))
    assert [tag for tag, _ in shown.elements] == ["div", "div", "table", "thead", "tr", "th", "tbody", "tr", "td"]
    assert show_hidden(text) in shown.text.replace("column", "", 1) or not text


def test_a_reply_is_set_as_markdown_and_a_request_stays_as_it_was_typed():
    said = "**Day 1**\nfirst *the* [port](https://tracker.example)\n\n# Food\n\n1. fish\n2. rice"
    user, assistant = (conversation_html([{"role": r, "content": said}]) for r in ("user", "assistant"))
    assert "**Day 1**" in Elements(user).text
    shown = Elements(assistant)
    assert [tag for tag, _ in shown.elements if tag in ("strong", "em", "br", "ol", "li")] == [
        *("strong", "br", "em", "strong", "ol", "li", "li")
    ]
    assert "**" not in shown.text and "port (https://tracker.example)" in shown.text
    assert not {"a", "h1"} & {tag for tag, _ in shown.elements} and not any("id" in a for _, a in shown.elements)


def test_a_long_reply_is_one_text_whose_beginning_shows():
    said = "\n\n".join(["```", *[f"line {i} " + "x " * 40 for i in range(12)], "```", "**end**"])
    shown = reply_html(said)
    assert "show all 1,087 characters</summary></details><div" in shown
    assert shown.count("<pre>") == 1 and "<strong>end</strong>" in shown
    assert re.findall(r"line \d+", Elements(shown).text) == [f"line {i}" for i in range(12)]


@given(st.text(alphabet="ab12 *_`#-\n>|[]()!:.<&~\"'"))
def test_no_word_of_a_reply_is_lost(text):
    shown = Elements(reply_html(text))
    assert shown.harmless()
    assert re.sub("[^a-z]", "", text) in re.sub("[^a-z]", "", shown.text)


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_any_printed_text_is_text(text):
    for output in (
        {"output_type": "stream", "name": "stdout", "text": text},
        {"output_type": "display_data", "data": {"text/plain": text}},
        {"output_type": "display_data", "data": {"text/markdown": text}},
        {"output_type": "display_data", "data": {"text/html": text}},
        {"output_type": "error", "ename": "E", "evalue": text, "traceback": [text]},
    ):
        assert Elements(output_html(output)).harmless()


def test_hidden_characters_are_shown_and_what_people_write_stays():
    written = "naïve 中文 👩‍👩‍👧 ❤️\n\ttab e\u0301"
    assert show_hidden(written) == written
    assert show_hidden("a\r\nb\rc") == "a\nb⟨U+000D⟩c"
    assert show_hidden("\U000e0041\ud800\ufeff") == "⟨U+E0041⟩⟨U+D800⟩⟨U+FEFF⟩"
    assert remove_ansi("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07") == "red link"


def test_untrusted_styles_of_frames_stay():
    styled = pd.DataFrame({"n": [1]}).style.set_properties(color="red").to_html()
    assert "color: red" in safe_html(styled)
    assert html.escape("<b>") in safe_html(pd.DataFrame({"n": ["<b>"]}).to_html())
