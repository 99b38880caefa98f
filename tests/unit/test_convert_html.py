"""HTML to Markdown."""

from __future__ import annotations

import time

import pytest

from graph_agent.ingest.convert.html import convert_html
from graph_agent.ingest.convert.registry import convert


def md(html: str) -> str:
    return convert_html(html.encode(), "a.html").markdown


def test_structure() -> None:
    text = md(
        "<html lang=en><head><title>T</title></head><body><h1>One <em>big</em></h1><p>Text\n with <b>bold</b> and "
        "<code>a_b</code>.<br>Next</p><ul><li>a<ul><li>b</li></ul></li><li><p>c</p></li></ul><ol start=3><li>x</li></ol>"
        "<blockquote><p>q</p></blockquote><pre><code class='language-python'>def f():\n    pass</code></pre>"
        "<dl><dt>term</dt><dd>meaning</dd></dl><h2></h2></body></html>"
    )
    assert text == (
        "# One big\n\nText with bold and `a_b`.\nNext\n\n- a\n  - b\n- c\n\n3. x\n\n> q\n\n"
        "```python\ndef f():\n    pass\n```\n\nterm\n\n- meaning\n"
    )


def test_tables_spans_and_pipes() -> None:
    text = md(
        "<table><thead><tr><th>a|b</th><th colspan=2>c</th></tr></thead><tbody><tr><td rowspan=2>r</td><td>1</td>"
        "<td>2</td></tr><tr><td>3<br>4</td><td>5</td></tr></tbody></table>"
    )
    assert text == "| a\\|b | c |  |\n| --- | --- | --- |\n| r | 1 | 2 |\n| r | 3 4 | 5 |\n"


def test_layout_tables_are_read_as_blocks() -> None:
    text = md(
        "<table><tr><td><h1>Head</h1><p>A paragraph.</p></td><td>side</td></tr></table>"
        "<table><tr><td>only</td></tr></table>"
    )
    assert text == "# Head\n\nA paragraph.\n\nside\n\nonly\n"


def test_what_is_no_text_is_left_out() -> None:
    text = md(
        "<body><script>evil()</script><style>p{}</style><nav><a href=/>Home</a></nav><div role=navigation>menu</div>"
        "<p hidden>h</p><p style='display: none'>n</p><noscript>ns</noscript><iframe srcdoc='<p>f</p>'></iframe>"
        "<svg><text>s</text></svg><form><button>Go</button><input value=v></form><p>Text</p><!-- c --></body>"
    )
    assert text == "Text\n"


def test_main_is_the_text_when_it_holds_it() -> None:
    long = "word " * 60
    assert md(f"<body><div>Sidebar</div><main><p>{long}</p></main></body>") == f"{long.strip()}\n"
    assert md("<body><div>All of it</div><main>x</main></body>") == "All of it\n\nx\n"


def test_links_keep_only_harmless_addresses() -> None:
    text = md(
        "<p><a href='b.html#x'>rel</a> <a href='https://e.org/a(b)'>abs</a> <a href='javascript:alert(1)'>js</a> "
        "<a href=' JaVaScRiPt:x'>js2</a> <a href='data:text/html,x'>data</a> <a href='#top'>top</a> "
        "<img src='data:image/png;base64,AAAA' alt='A chart'><img src=http://x/y.png></p>"
    )
    assert text == "[rel](b.html#x) [abs](<https://e.org/a(b)>) js js2 data top [Image: A chart]\n"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ('<meta charset="iso-8859-1"><p>caf\u00e9 \u20ac</p>'.encode("cp1252"), "caf\u00e9 \u20ac\n"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=shift_jis"><p>\u540d\u524d</p>'.encode("shift_jis"), "\u540d\u524d\n"),
        ("<p>caf\u00e9</p>".encode("utf-16"), "caf\u00e9\n"),
        ('<meta charset="utf-16"><p>caf\u00e9</p>'.encode(), "caf\u00e9\n"),
        ('<meta charset="nonsense"><p>caf\u00e9</p>'.encode(), "caf\u00e9\n"),
        (b"\xef\xbb\xbf<p>\xc3\xa9</p>", "\u00e9\n"),
    ],
)  # fmt: skip
def test_encodings(data: bytes, expected: str) -> None:
    assert convert(data, "a.html").markdown == expected


def test_properties() -> None:
    found = convert_html(
        b"<html lang='pt-BR'><head><title> My\n page </title><meta name=author content=Ann>"
        b"<meta property='article:published_time' content='2024-03-01T10:00:00Z'></head><p>x</p>",
        "a.html",
    )
    assert (found.title, found.language) == ("My page", "pt-BR")
    assert found.metadata == {"author": "Ann", "published": "2024-03-01"}


def test_hostile_nesting_and_size_end_soon() -> None:
    started = time.monotonic()
    assert "deep" in md("<div>" * 5_000 + "deep")
    assert "deep" in md("<span>" * 3_000 + "deep")
    assert "deep" in md("<ul><li>" * 1_000 + "deep")
    assert "x" in md(
        "<table><tr><td rowspan=99999 colspan=99999>x</td></tr><tr><td>y</td><td>z</td></tr></table>"
    )
    assert time.monotonic() - started < 10
