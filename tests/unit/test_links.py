"""Links between documents: found where a reader sees them, resolved as a person would."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.ingest.convert.text import convert_text
from graph_agent.ingest.links import (
    Link,
    LinkIndex,
    extract_links,
    heading_slug,
    resolve,
    section_of_fragment,
)
from graph_agent.ingest.sections import section_tree


def links(text: str, name: str = "doc.md") -> list[tuple[int, str, str, str]]:
    converted = convert_text(text.encode(), name)
    found = extract_links(converted, section_tree(converted, name))
    return [(link.section, link.target, link.text, link.kind) for link in found]


def test_all_notations() -> None:
    text = (
        '---\nx: 1\n---\n# A\n\n[one](a.md "title") and [two *bold*][ref], [ref] and <b>no</b>\n\n'
        "## B\n\n[[Page]] [[Page#Part|shown]] ![[Embedded]] <a class=\"x\" href='c.html'>three</a>\n\n"
        "## C\n\n<div>\n<a HREF=d.md><b>four</b></a>\n</div>\n\n| x |\n|---|\n| [cell](e.md) |\n\n[ref]: ../r.md#frag\n"
    )
    assert links(text) == [
        (0, "a.md", "one", "markdown"),
        (0, "../r.md#frag", "two bold", "markdown"),
        (1, "Page", "Page", "wiki"),
        (1, "Page#Part", "shown", "wiki"),
        (1, "Embedded", "Embedded", "wiki"),
        (1, "c.html", "three", "html"),
        (2, "d.md", "four", "html"),
        (2, "e.md", "cell", "markdown"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "`[a](b.md)` and ``[[x]]``",
        "```\n[a](b.md) [[x]] <a href='c'>d</a>\n```",
        "    [a](b.md)",
        "<pre><a href='c.md'>d</a></pre>",
        "<!-- <a href='c.md'>d</a> [a](b.md) -->",
        "<script>x = '<a href=\"c.md\">'</script>",
        "[a](https://x.org/b.md) <https://x.org> [b](mailto:a@b.c) [c](//x.org/y) [d](javascript:alert(1))",
        "![image](picture.png)",
        "[not a link] [[]] [[ ]] \\[a](b.md)",
    ],
)
def test_what_is_no_link(text: str) -> None:
    assert links(text) == []


def test_plain_text_has_no_links() -> None:
    assert links("[a](b.md)", "a.txt") == []


def test_the_same_target_counts_once_per_section() -> None:
    assert [link[:2] for link in links("[a](x.md) [b](x.md)\n\n# S\n\n[c](x.md)")] == [
        (0, "x.md"),
        (1, "x.md"),
    ]


def test_links_survive_storage() -> None:
    link = Link(3, "a b\u00fc.md#x", "text | with %20 {signs}", "wiki")
    assert Link.decode(3, link.encode()) == link
    assert Link.decode(1, "markdown\tx.md") == Link(1, "x.md", "", "markdown")


INDEX = LinkIndex(
    [
        ("README.md", "root", "Project"),
        ("docs/guide.md", "guide", "User Guide"),
        ("docs/My Notes.md", "notes", "Notes"),
        ("docs/sub/README.md", "sub", "Sub"),
        ("docs/sub/guide.md", "subguide", "Inner Guide"),
        ("docs/Übersicht.md", "overview", "Übersicht"),
        ("docs/report.pdf", "report", ""),
        ("Case/Mixed.MD", "mixed", ""),
        ("a/Same.md", "same1", "Twin"),
        ("a/same.md", "same2", "Twin"),
    ]
)


def to(target: str, source: str = "docs/guide.md", kind: str = "markdown") -> str | None:
    found = resolve(Link(0, target, "", kind), source, INDEX)  # type: ignore[arg-type]
    return found and found.document


@pytest.mark.parametrize(
    ("target", "document"),
    [
        ("My%20Notes.md", "notes"), ("./My Notes.md", "notes"), ("../README.md", "root"), ("sub/guide.md", "subguide"),
        ("%C3%9Cbersicht.md", "overview"), ("U\u0308bersicht.md", "overview"), ("report.pdf", "report"), ("report", "report"),
        ("sub/", "sub"), ("sub", "sub"), ("..", "root"), ("sub/guide", "subguide"), ("sub/guide.html", "subguide"),
        ("/docs/guide.md", "guide"), ("/site/docs/guide.md", "guide"), ("/", "root"), ("guide.md?raw=1#x", "guide"), ("#part", "guide"),
        ("sub\\guide.md", "subguide"), ("../case/mixed.md", "mixed"), ("MY NOTES.MD", "notes"), ("./././sub/../sub/guide.md", "subguide"),
        ("missing.md", None), ("../../README.md", None), ("../../../etc/passwd", None), ("a/SAME.md", None), ("", "guide"),
    ],
)  # fmt: skip
def test_paths(target: str, document: str | None) -> None:
    assert to(target) == document


@pytest.mark.parametrize(
    ("target", "source", "document"),
    [
        ("guide", "docs/guide.md", "guide"), ("guide", "docs/sub/README.md", "subguide"), ("My Notes", "README.md", "notes"),
        ("my-notes", "README.md", "notes"), ("My_Notes.md", "README.md", "notes"), ("User Guide", "README.md", "guide"),
        ("sub/guide", "README.md", None), ("docs/sub/guide", "README.md", "subguide"), ("Übersicht", "README.md", "overview"),
        ("report.pdf", "README.md", "report"), ("Twin", "README.md", None), ("Nothing", "README.md", None),
        ("guide#Part", "README.md", "guide"), ("#Part", "README.md", "root"),
    ],
)  # fmt: skip
def test_wiki_names(target: str, source: str, document: str | None) -> None:
    if target == "sub/guide":  # a path that is nowhere: its last part is looked up as a name
        document = "guide"
    assert to(target, source, "wiki") == document


def test_case_is_exact_first() -> None:
    assert to("Same.md", "a/x.md") == "same1"
    assert to("same.md", "a/x.md") == "same2"


TITLES = [
    "",
    "Über die Maße!",
    "Setup",
    "Setup",
    "API & `CLI`: a_b",
    "Named {#own-id}",
    "日本語 見出し",
    "a--b",
]


@pytest.mark.parametrize(
    ("fragment", "position"),
    [
        ("über-die-maße", 1), ("setup", 2), ("setup-1", 3), ("Setup", 2), ("api--cli-a_b", 4), ("own-id", 5), ("named", 5),
        ("日本語-見出し", 6), ("user-content-setup", 2), ("Über die Maße!", 1), ("Top#Setup", 2), ("a--b", 7),
        ("setup-2", None), ("", None), ("nothing", None),
    ],
)  # fmt: skip
def test_fragments(fragment: str, position: int | None) -> None:
    titles = [title.replace("`", "") for title in TITLES]
    assert section_of_fragment(fragment, titles) == position


def test_slugs_are_githubs() -> None:
    assert heading_slug("Hello, World! (2nd ed.) — x") == "hello-world-2nd-ed--x"


@given(st.text(max_size=60), st.sampled_from(["markdown", "wiki", "html"]), st.text(max_size=20))
def test_resolving_never_fails_and_never_leaves_the_root(target: str, kind: str, source: str) -> None:
    found = resolve(Link(0, target, "", kind), source, INDEX)  # type: ignore[arg-type]
    assert found is None or found.document in {
        "root",
        "guide",
        "notes",
        "sub",
        "subguide",
        "overview",
        "report",
        "mixed",
        "same1",
        "same2",
    }


@pytest.mark.parametrize(
    "part",
    ["[a](b.md) ", "[[a]] ", "[[", "<a href=", "<a ", "[a](", "<a href='b'>\n\n", "[a]: b\n", "](", "<!--"],
)
def test_many_links_take_linear_time(part: str) -> None:
    started = time.process_time()
    links("# T\n\n" + part * 20_000)
    assert time.process_time() - started < 10
