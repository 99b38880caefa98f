"""Markdown of documents and models as HTML that cannot do anything."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.ui.sanitise import (
    MAX_CHARACTERS,
    CitationMark,
    Rendering,
    clean,
    external_host,
    plain_text,
    to_html,
)

ELEMENTS = frozenset(
    [
        "a",
        "blockquote",
        "br",
        "code",
        "del",
        "div",
        "em",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "kbd",
        "li",
        "mark",
        "ol",
        "p",
        "pre",
        "span",
        "strong",
        "sub",
        "sup",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
        "ul",
    ]
)
ATTRIBUTES = {
    "a": {"href", "target", "rel", "class", "title", "aria-label"},
    "code": {"data-language"},
    "div": {"class", "tabindex", "role", "aria-label"},
    "ol": {"start"},
    "pre": {"class", "tabindex"},
    "span": {"class", "title"},
    "td": {"class"},
    "th": {"class"},
}
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](http://evil.example/pixel.png)",
    "![x](javascript:alert(1))",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\nscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](\x01javascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox(1))",
    "[x](file:///etc/passwd)",
    "[x](//evil.example/)",
    "[x](http:\\\\evil.example)",
    "<javascript:alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<a href='javascript:alert(1)'>x</a>",
    "<svg/onload=alert(1)>",
    "<math><mglyph><style><img src=x onerror=alert(1)>",
    "<sub onclick=alert(1)>x</sub>",
    "<br onmouseover=alert(1)>",
    "<style>*{display:none}</style>",
    "<base href='http://evil.example/'>",
    '[x](http://ok.example "\\" onmouseover=alert(1) \\"")',
    '[x](http://ok.example/"onmouseover="alert(1))',
    '```"><script>alert(1)</script>\nx\n```',
    "| <script>alert(1)</script> |\n|---|\n| x |",
    "[1]: javascript:alert(1)\n\n[1]",
    "<!-- --><script>alert(1)</script> -->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?php echo 1 ?>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
]


class Checked(HTMLParser):
    """Asserts that only allowed elements and attributes stand in some HTML, and that they close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS, tag
        for name, value in attrs:
            assert name in ATTRIBUTES.get(tag, ()) or name.startswith("data-"), (tag, name)
            if name == "href":
                assert value == "#" or re.match(r"(#source-\d+|https?://|mailto:)", str(value)), value
        if tag not in {"br", "hr"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check(html: str) -> None:
    parser = Checked()
    parser.feed(html)
    parser.close()
    assert parser.open == []


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("how", [Rendering(), Rendering(citations={1: CitationMark("one")}, turn="t")])
def test_hostile_text_stays_text(text: str, how: Rendering) -> None:
    for markdown in (text, f"before {text} after", f"# {text}", f"- {text}\n- x", f"> {text}"):
        check(str(to_html(markdown, how)))


PIECES = st.sampled_from(
    ["<", ">", '"', "'", "`", "*", "_", "[", "]", "(", ")", "!", "|", "\n", "\n\n", "#", "- ", "1. ", "&", ";", "javascript:",
     "http://a.b/", "<script>", "<sub>", "</sub>", "<br>", "[1]", "[[x]]", "on", "x", " ", "\x00", "\u202e", "```", "~~"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_mixture_stays_harmless(text: str) -> None:
    check(str(to_html(text)))
    check(
        str(to_html(text, Rendering(citations={1: CitationMark("one", verified=False)}, quotes=[text[:20]])))
    )


@given(st.text(max_size=200))
def test_any_text_stays_harmless(text: str) -> None:
    check(
        str(
            to_html(
                text,
                Rendering(quotes=[text[:30]], resolve=lambda address, words: {"do": "section", "id": words}),
            )
        )
    )


def test_what_is_written_in_markdown_is_shown() -> None:
    html = str(
        to_html("# Title\n\n**bold** *it* ~~no~~ `code`\n\n1. one\n2. two\n\n| a | b |\n|---|--:|\n| 1 | 2 |")
    )
    for part in ("<h3>Title</h3>", "<strong>bold</strong>", "<em>it</em>", "<del>no</del>", "<code>code</code>",
                 "<ol><li>one</li><li>two</li></ol>", '<td class="right">2</td>'):  # fmt: skip
        assert part in html


def test_harmless_html_of_documents_is_kept_and_the_rest_printed() -> None:
    html = str(to_html("CO<sub>2</sub> a<br>b <kbd>x <sub>y</kbd> <u>z</u>"))
    assert "CO<sub>2</sub> a<br>b" in html
    assert "&lt;kbd&gt;x &lt;sub&gt;y&lt;/kbd&gt; &lt;u&gt;z&lt;/u&gt;" in html


def test_images_are_named_and_links_show_their_host() -> None:
    assert (
        str(to_html("![A chart](https://evil.example/x.png)"))
        == '<p><span class="image">Image: A chart</span></p>'
    )
    html = str(to_html("[the bank](https://evil.example/login) [evil.example](https://evil.example/)"))
    assert html.count("(evil.example)") == 1
    assert html.count('rel="noopener noreferrer nofollow"') == 2


def test_citations_become_links_by_what_the_check_found() -> None:
    marks = {1: CitationMark("Source 1: a.md"), 2: CitationMark("Source 2: b.md", verified=False)}
    html = str(to_html("Yes [1][2], no [7], never [8?].", Rendering(citations=marks, turn="t9")))
    assert '<a class="cite" href="#source-1" data-do="cite" data-n="1" data-turn="t9"' in html
    assert 'class="cite unverified"' in html
    assert "Source 2: b.md, not verified" in html
    assert html.count('<span class="cite missing"') == 2


def test_an_answer_cannot_redirect_a_citation() -> None:
    marks = {1: CitationMark("Source 1: a.md")}
    html = str(
        to_html(
            "Yes [1] and [1](http://evil.example/).\n\n[1]: http://evil.example/", Rendering(citations=marks)
        )
    )
    assert 'href="http' not in html
    assert html.count('data-n="1"') == 3


def test_code_keeps_its_brackets() -> None:
    html = str(to_html("`a[1]`", Rendering(citations={1: CitationMark("one")})))
    assert "<code>a[1]</code>" in html


@pytest.mark.parametrize(
    ("text", "quote", "marked"),
    [
        ("A **bold** claim, and\nmore.", "bold claim, and more", ["bold", "claim, and", "more"]),
        ("| a | 12.5 % |\n|---|---|\n| one | two |", "| one | two |", ["one", "two"]),
        ("See [the rule](x.md) today.", "See [the rule](x.md) today.", ["See", "the rule", "today"]),
        ("Grüße aus Köln, ÄÖÜ.", "aus köln", ["aus Köln"]),
        ("料金は百円です。明日まで。", "料金は百円です", ["料金は百円です"]),
        ("First sentence is here. Other words. Third sentence is here.",
         "First sentence is here. Third sentence is here.", ["First sentence is here", "Third sentence is here"]),
        ("Nothing of it.", "Entirely different words", []),
        ("```\nx = 1\ny = 2\n```", "y = 2", ["y = 2"]),
    ],
)  # fmt: skip
def test_quotations_are_highlighted_through_markup(text: str, quote: str, marked: list[str]) -> None:
    html = str(to_html(text, Rendering(quotes=[quote])))
    check(html)
    assert re.findall(r"<mark>(.*?)</mark>", html, re.DOTALL) == marked


def test_the_first_quotation_that_is_found_is_used() -> None:
    html = str(to_html("One two three.", Rendering(quotes=["nowhere to be found", "two three", "One"])))
    assert html == "<p>One <mark>two three</mark>.</p>"


def test_links_inside_the_application() -> None:
    targets = {"rules": {"do": "section", "id": "ab::1"}, "name": {"do": "document", "id": 'x"y'}}
    how = Rendering(resolve=lambda address, words: targets.get(words))
    html = str(to_html("See [rules](../r.md), [[file|name]], [[nowhere]] and [gone](../g.md).", how))
    check(html)
    assert '<a href="#" data-do="section" data-id="ab::1">rules</a>' in html
    assert 'data-id="x&#34;y"' in html
    assert "[[nowhere]]" in html
    assert '<span class="unlinked" title="../g.md">gone</span>' in html


def test_long_text_is_shown_as_it_is() -> None:
    html = str(to_html("# x <b>\n" * (MAX_CHARACTERS // 4)))
    assert html.startswith('<pre class="plain"># x &lt;b&gt;')


def test_names_cannot_turn_direction_or_hide() -> None:
    assert clean("invoice\u202egpj.exe\x00\x1b[31m") == "invoicegpj.exe[31m"
    assert plain_text("# The **`first`** [title](x)\n\nmore") == "The first title more"


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://a.example/x", "a.example"),
        ("mailto:a@b.example", "b.example"),
        ("javascript:alert(1)", ""),
        ("http://a b/", ""),
        ("https://[", ""),
        ("/path", ""),
        ("ftp://a.example", ""),
        ("HTTPS://A.example", "a.example"),
    ],
)
def test_which_addresses_may_be_followed(address: str, host: str) -> None:
    assert external_host(address) == host
