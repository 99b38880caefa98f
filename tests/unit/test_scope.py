"""Identifiers and scopes: what people write, and the documents that they mean."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from graph_agent.errors import BadArgument, NotFound
from graph_agent.retrieval.corpus import Corpus, DocumentRow, FolderRow, Place
from graph_agent.retrieval.documents import resolve_document, resolve_folder, resolve_sections
from graph_agent.retrieval.scope import Scope, build_scope


def row(
    content: str,
    path: str,
    *,
    markdown: str = "",
    date: str | None = None,
    labels: dict[str, tuple[str, ...]] | None = None,
    title: str = "",
    also: str = "",
) -> DocumentRow:
    paths = [path, *([also] if also else [])]
    places = tuple(Place("f", each, each.rsplit("/", 1)[-1], f"/data/{each}") for each in paths)
    return DocumentRow(
        content_hash=content,
        markdown_hash=markdown or content[::-1],
        path=path,
        filename=path.rsplit("/", 1)[-1],
        title=title,
        source=f"/data/{path}",
        places=places,
        date=date,
        labels=MappingProxyType(labels or {}),
    )


DOCUMENTS = (
    row(
        "aaaa111122223333",
        "reports/2024/annual.md",
        date="2024-03-01",
        labels={"team": ("ops",)},
        title="Annual Report",
    ),
    row("aaab111122223333", "reports/2025/annual.md", date="2025-03-01", labels={"team": ("ops", "sea")}),
    row("cccc111122223333", "reports-old/README.md", labels={"team": ("sea",), "kind": ("memo",)}),
    row("dddd111122223333", "notes/beef.txt", date="2024"),
    row("beef111122223333", "notes/other.txt", markdown="0123456789abcdef", date="2024-06"),
    row("eeee111122223333", "notes/Case.md", also="archive/copy of case.md"),
    row("ffff111122223333", "notes/case.md"),
)
FOLDERS = (
    FolderRow(
        "f000000000000001",
        "reports",
        "/data/reports",
        documents=frozenset({"aaaa111122223333", "aaab111122223333"}),
    ),
    FolderRow("f000000000000002", "2024", "/data/reports/2024", documents=frozenset({"aaaa111122223333"})),
    FolderRow(
        "f100000000000003",
        "notes",
        "/data/notes",
        documents=frozenset(each.content_hash for each in DOCUMENTS[3:]),
    ),
    FolderRow("f200000000000004", "notes", "/other/notes"),
    FolderRow("f300000000000005", "empty", "/data/empty"),
)
CORPUS = Corpus(
    version=1,
    documents=DOCUMENTS,
    folders=FOLDERS,
    spans={each.markdown_hash: range(0) for each in DOCUMENTS},
)


@pytest.mark.parametrize(
    ("ref", "content"),
    [
        ("aaaa111122223333", "aaaa111122223333"),
        ("cccc", "cccc111122223333"),
        ("CCCC1111", "cccc111122223333"),
        ("0123456", "beef111122223333"),
        ("beef.txt", "dddd111122223333"),
        ("beef", "dddd111122223333"),  # a filename without its ending beats the beginning of a hash
        ("readme.md", "cccc111122223333"),
        ("README", "cccc111122223333"),
        ("reports/2024/annual.md", "aaaa111122223333"),
        ("2025/annual.md", "aaab111122223333"),
        ("2025/annual", "aaab111122223333"),
        ("/data/reports/2025/annual.md", "aaab111122223333"),
        ("./reports/2025/annual.md", "aaab111122223333"),
        (r"reports\2025\annual.md", "aaab111122223333"),
        ("Case.md", "eeee111122223333"),
        ("case.md", "ffff111122223333"),
        ("copy of case.md", "eeee111122223333"),
        ("annual report", "aaaa111122223333"),
        ("`beef.txt`", "dddd111122223333"),
    ],
)
def test_document_identifiers(ref: str, content: str) -> None:
    assert resolve_document(CORPUS, ref).content_hash == content


@pytest.mark.parametrize(
    "ref", ["annual.md", "annual", "aaa", "111122223333", "nual.md", "aaaa1111222233339"]
)
def test_what_names_no_single_document(ref: str) -> None:
    with pytest.raises(NotFound) as caught:
        resolve_document(CORPUS, ref)
    assert ref in str(caught.value)


def test_ambiguity_lists_the_candidates_and_absence_what_is_near() -> None:
    with pytest.raises(NotFound, match=r"reports/2024/annual\.md.*reports/2025/annual\.md"):
        resolve_document(CORPUS, "annual.md")
    with pytest.raises(NotFound, match=r"Near: .*annual\.md"):
        resolve_document(CORPUS, "anual.md")
    with pytest.raises(BadArgument, match="document_id is empty"):
        resolve_document(CORPUS, "  ")


def test_folder_identifiers() -> None:
    assert resolve_folder(CORPUS, "reports").folder_id == "f000000000000001"
    assert resolve_folder(CORPUS, "reports/2024").folder_id == "f000000000000002"
    assert resolve_folder(CORPUS, "/other/notes/").folder_id == "f200000000000004"
    assert resolve_folder(CORPUS, "f300").folder_id == "f300000000000005"
    with pytest.raises(NotFound, match="matches 2"):
        resolve_folder(CORPUS, "notes")
    with pytest.raises(NotFound, match="Near: reports"):
        resolve_folder(CORPUS, "report")


def test_section_identifiers() -> None:
    found = resolve_sections(CORPUS, "0123::3, [0123456789abcdef::7] , zz::1,nonsense, 0123::3")
    assert [each.section_id for each in found] == ["0123456789abcdef::3", "0123456789abcdef::7", None, None]
    assert all(each.problem for each in found[2:])
    many = resolve_sections(CORPUS, ["3333::1"])[0]
    assert many.section_id is None
    assert "ambiguous" in many.problem
    with pytest.raises(BadArgument):
        resolve_sections(CORPUS, " , ")


def names(scope: Scope) -> set[str]:
    return {row.path for row in DOCUMENTS if row.content_hash in scope.documents}


def test_scopes_by_place() -> None:
    assert names(build_scope(CORPUS)) == {each.path for each in DOCUMENTS}
    assert names(build_scope(CORPUS, folder="reports")) == {
        "reports/2024/annual.md",
        "reports/2025/annual.md",
    }
    assert names(build_scope(CORPUS, document="README")) == {"reports-old/README.md"}
    assert names(build_scope(CORPUS, paths="reports")) == {"reports/2024/annual.md", "reports/2025/annual.md"}
    assert names(build_scope(CORPUS, paths="/data/reports/2024/")) == {"reports/2024/annual.md"}
    assert names(build_scope(CORPUS, paths=["archive", "README"])) == {
        "notes/Case.md",
        "reports-old/README.md",
    }
    assert names(build_scope(CORPUS, folder="reports", document="README")) == set()


def test_a_scope_that_matches_nothing_stays_empty_and_says_why() -> None:
    scope = build_scope(CORPUS, paths="reports/2026")
    assert scope.is_empty
    assert "no ingested document is under reports/2026" in scope.problem
    assert build_scope(CORPUS, folder="empty").problem
    with pytest.raises(NotFound):
        build_scope(CORPUS, paths="notes/unknown", folder="missing")


def test_labels_and_dates() -> None:
    assert names(build_scope(CORPUS, labels={"Team": "OPS"})) == {
        "reports/2024/annual.md",
        "reports/2025/annual.md",
    }
    assert names(build_scope(CORPUS, labels={"team": ["ops", "sea"], "kind": "memo"})) == {
        "reports-old/README.md"
    }
    assert names(build_scope(CORPUS, date_from="2024-06-15", date_to="2024-12-31")) == {
        "notes/beef.txt",
        "notes/other.txt",
    }
    assert names(build_scope(CORPUS, date_to="2024-03-01")) == {"reports/2024/annual.md", "notes/beef.txt"}


def test_left_out_counts_only_those_that_lack_a_value() -> None:
    scope = build_scope(CORPUS, labels={"team": "ops"}, date_from="2024-01-01", date_to="2024-12-31")
    assert names(scope) == {"reports/2024/annual.md"}
    # beef.txt and other.txt have no team but a date that fits; Case.md and case.md lack both; README has
    # a team that does not fit; annual 2025 a date that does not
    assert scope.left_out == {"unlabelled": 4, "undated": 2}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"labels": {"colour": "red"}}, "Facets: kind, team"),
        ({"labels": {"team": "opps"}}, "Nearest: ops. Values: ops, sea"),
        ({"labels": {"team": []}}, "Values: ops, sea"),
        ({"date_from": "01.02.2024"}, "YYYY-MM-DD"),
        ({"date_from": "2024-02-31"}, "is not a date"),
        ({"date_from": "2024-05-01", "date_to": "2024-04-01"}, "is after"),
        ({"paths": ""}, "scope is empty"),
        ({"paths": []}, "scope is empty"),
        ({"folder": ""}, "folder_id is empty"),
        ({"document": " "}, "document_id is empty"),
    ],
)
def test_bad_arguments(given: dict[str, object], message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        build_scope(CORPUS, **given)  # type: ignore[arg-type]
