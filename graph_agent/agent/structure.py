"""Questions about structure without a model: fixed queries over our own graph, and simple ones over any other.

Values from a question are parameters of a query; names of properties and labels stand in it only when the graph
has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graph_agent.agent.analysis import Question, quoted_texts
from graph_agent.agent.cypher_examples import quoted
from graph_agent.store.skeleton import PropertyFact
from graph_agent.text import STOP_WORDS, fold, terms, words

_COUNTING_WORDS = (
    "many number count list show name give documents document files file papers docs dokumente dokument "
    "dateien datei unterlagen collection corpus graph sammlung exist gibt viele wieviele anzahl liste "
    "zeige nenne altogether total insgesamt currently available contain contains hold holds "
)
_OWN_NAMES = (
    "content_hash markdown_hash filename path title media_type token_count section_count page_count "
    "description description_source summary keywords date_source ingested_at converter chunker warnings "
    "metadata encoding "
)
LISTED = 60
CITABLE = 8
CONDITIONS = 3  # on properties, in one query
RELATED = 12  # neighbours of a node of another graph that are shown
OWN_PROPERTIES = frozenset(_OWN_NAMES.split())
_LANGUAGES = {
    "german": "de", "deutsch": "de", "english": "en", "englisch": "en", "french": "fr", "franzosisch": "fr",
    "spanish": "es", "spanisch": "es", "italian": "it", "italienisch": "it", "dutch": "nl", "chinese": "zh",
    "chinesisch": "zh", "japanese": "ja", "portuguese": "pt",
}  # fmt: skip
_IN_LANGUAGE = re.compile(
    r"\b(?:written |are )?(?:in|auf) ("
    + "|".join(_LANGUAGES)
    + r")\b|\b("
    + "|".join(_LANGUAGES)
    + r")[- ](?:language )?(?:documents?|files?|papers?)\b"
)
_DOCUMENTS = "MATCH (:Folder)-[:CONTAINS]->(d:Document) WITH DISTINCT d "
_RETURN_DOCUMENTS = (
    f"WITH d ORDER BY d.path RETURN count(d) AS documents, collect(d.path)[0..{LISTED}] AS paths, "
    f"collect(d.markdown_hash + '::0')[0..{CITABLE}] AS sections"
)
_SECTIONS_OF = "MATCH (d)-[:HAS_SECTION]->(:MarkdownSection)-[:HAS_SUBSECTION*0..]->(s:MarkdownSection) "


@dataclass(frozen=True)
class Queries:
    """A query, and a weaker one for when it finds nothing; `says` is how the weaker one is announced.

    Attributes:
        params: values of the parameters of both.
    """

    cypher: str
    fallback: str = ""
    says: str = ""
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def details(self) -> dict[str, Any]:
        """What the plan keeps of it."""
        return {
            "cypher": self.cypher,
            "fallback": self.fallback,
            "says": self.says,
            "params": dict(self.params),
        }


class _Values(dict[str, Any]):
    """Parameters of a query that is being put together."""

    def put(self, name: str, value: Any) -> str:
        """The parameter that stands for a value; values of the same name are numbered."""
        if name in self:
            name = f"{name}_{len(self)}"
        self[name] = value
        return f"${name}"


def document_queries(
    question: str, found: Question, properties: Iterable[PropertyFact], folders: Sequence[str]
) -> Queries | None:
    """The queries for a structural question over documents; None when no fixed query answers it."""
    folder = folder_named(found.folder, folders)
    if found.folder and folder is None:
        return None
    if found.structure == "titled" and found.title:
        return _titled(found)
    if found.structure == "mention" and found.title:
        return _mentioning(found.title)
    if found.structure not in {"count", "list"}:
        return None
    values = _Values()
    if found.target == "folders":
        return Queries(
            "MATCH (f:Folder) WITH f ORDER BY f.path RETURN count(f) AS folders, collect(f.path)[0..60] AS paths"
        )
    if found.target == "sections":
        level = f"WHERE s.level = {values.put('level', found.level)} " if found.level else ""
        return Queries(
            f"{_DOCUMENTS}{_within(folder, values)}{_SECTIONS_OF}{level}RETURN count(DISTINCT s) AS sections",
            params=values,
        )
    conditions = property_conditions(question, properties, values)
    if not conditions and not folder and not _is_bare(question, found):
        return None
    where = "".join(f"WITH d WHERE {condition} " for condition in conditions)
    return Queries(f"{_DOCUMENTS}{_within(folder, values)}{where}{_RETURN_DOCUMENTS}", params=values)


def _titled(found: Question) -> Queries:
    values = _Values()
    title = values.put("title", found.title.lower())
    head = f"{_DOCUMENTS}{_SECTIONS_OF}"
    ids = f"WITH d ORDER BY d.path RETURN count(d) AS documents, collect(d.path)[0..{LISTED}] AS paths, collect(section)[0..{CITABLE}] AS sections"
    pick = "WITH d, min(s.section_id) AS section "
    return Queries(
        f"{head}WHERE toLower(s.title) = {title} {pick}{ids.replace('WITH d ORDER', 'WITH d, section ORDER')}",
        f"{head}WHERE toLower(s.title) CONTAINS {title} {pick}{ids.replace('WITH d ORDER', 'WITH d, section ORDER')}",
        "no title is exactly that; titles that contain it were counted",
        values,
    )


def _mentioning(said: str) -> Queries:
    """Documents whose text holds some words, in the singular or the plural, those that hold them most often first."""
    lowered = said.lower()
    forms = {lowered, lowered.removesuffix("s") if len(lowered) > 4 else lowered}
    if lowered.endswith("y"):
        forms.add(lowered[:-1] + "ies")
    if lowered.endswith("ies"):
        forms.add(lowered[:-3] + "y")
    # any() over a list finds nothing here on FalkorDB 4.16: the engine filters before the sections are matched.
    values = _Values()
    holds = " OR ".join(
        f"toLower(s.title + ' ' + s.text) CONTAINS {values.put('words', form)}" for form in sorted(forms)
    )
    return Queries(
        f"{_DOCUMENTS}{_SECTIONS_OF}WHERE {holds} "
        "WITH d, count(DISTINCT s) AS held, min(s.section_id) AS section ORDER BY held DESC, d.path "
        f"RETURN count(d) AS documents, collect(d.path)[0..{LISTED}] AS paths, collect(section)[0..{CITABLE}] AS sections",
        params=values,
    )


def _within(folder: str | None, values: _Values) -> str:
    if folder is None:
        return ""
    path = values.put("folder", folder.lower())
    return f"MATCH (f:Folder)-[:CONTAINS*1..]->(d) WHERE toLower(f.path) = {path} WITH DISTINCT d "


def folder_named(name: str, folders: Sequence[str]) -> str | None:
    """The folder that a question names: by its whole path, its end, or its last part; None for none or several."""
    if not name:
        return None
    wanted = fold(name).strip("/")
    exact = [path for path in folders if fold(path).strip("/") == wanted]
    ending = [path for path in folders if fold(path).strip("/").rpartition("/")[2] == wanted]
    for found in (exact, ending):
        if len(found) == 1:
            return found[0]
    return None


def _is_bare(question: str, found: Question) -> bool:
    """Whether a question counts or lists all documents: nothing in it restricts them."""
    plain = STOP_WORDS["en"] | STOP_WORDS["de"] | frozenset(_COUNTING_WORDS.split())
    return not found.title and all(word in plain for word in words(question))


def property_conditions(question: str, properties: Iterable[PropertyFact], values: _Values) -> list[str]:
    """Conditions on documents that a question names by property and value: `status superseded`, `language (de)`."""
    folded = set(words(question))
    stems = set(terms(question, "en")) | set(terms(question, "de"))
    quotes = quoted_texts(question)
    conditions: list[str] = []
    for fact in properties:
        if len(conditions) == CONDITIONS:
            break
        if fact.name == "language" and (code := _written_in(question)):
            conditions.append(f"d.language = {values.put('language', code)}")
            continue
        if fact.name in OWN_PROPERTIES or not _named(fact.name, stems):
            continue
        value = _value_of(fact, folded, quotes)
        if value is not None:
            conditions.append(
                f"toLower(toString(d.{quoted(fact.name)})) = {values.put('value', value.lower())}"
            )
    return conditions


def _written_in(question: str) -> str:
    """The language that documents are asked for in: `documents in German`, `files written in French`."""
    match = _IN_LANGUAGE.search(fold(question))
    return _LANGUAGES.get(match[1] or match[2], "") if match else ""


def _value_of(fact: PropertyFact, folded: set[str], quotes: Sequence[str]) -> str | None:
    known = [str(value) for value in (fact.values or fact.examples)]
    for value in known:
        parts = words(value)
        if parts and set(parts) <= folded:
            return value
    if fact.name == "language":
        code = next((_LANGUAGES[word] for word in folded if word in _LANGUAGES), None)
        if code:
            return code
    return quotes[0] if quotes and fact.values is None else None


def _named(name: str, stems: set[str]) -> bool:
    """Whether a question names a property: every word of its name, `no` read as number."""
    parts = [
        {"no": "number", "nr": "number", "num": "number"}.get(part, part)
        for part in re.split(r"[_\W]+", fold(name))
        if part
    ]
    return bool(parts) and all(any(term in stems for term in terms(part, "en")) for part in parts)


def named_properties(question: str, properties: Iterable[PropertyFact]) -> list[str]:
    """Properties of documents that a question names and asks for, other than our own bookkeeping."""
    stems = set(terms(question, "en")) | set(terms(question, "de"))
    return [fact.name for fact in properties if fact.name not in OWN_PROPERTIES and _named(fact.name, stems)][
        :4
    ]


def properties_query(names: Sequence[str], documents: Sequence[str]) -> Queries:
    """A query for some properties of some documents, given by content hash."""
    values = ", ".join(f"d.{quoted(name)} AS {quoted(name)}" for name in names)
    return Queries(
        f"MATCH (d:Document) WHERE d.content_hash IN $documents RETURN d.content_hash AS document_id, d.path AS document, {values}",
        params={"documents": list(documents)},
    )


def foreign_query(question: str, facts: Mapping[str, Any]) -> Queries | None:
    """A query over any graph: a count of a label that the question names, or nodes that hold its names."""
    folded = words(question)
    labels = list(facts.get("labels", {}))
    named = [label for label in labels if _singular(label) in {_singular(word) for word in folded}]
    if (
        named
        and re.search(r"\b(?:how many|number of|count|wie ?viele|anzahl)\b", fold(question))
        and len(folded) <= 9
    ):
        return Queries(f"MATCH (n:{quoted(named[0])}) RETURN count(n) AS {quoted(named[0])}")
    phrase = _proper_name(question)
    if not phrase:
        return None
    values = _Values()
    needle = values.put("name", phrase.lower())
    match = f"MATCH (n{':' + quoted(named[0]) if named else ''}) "
    around = _around(question, facts)
    return Queries(
        f"{match}WHERE any(k IN keys(n) WHERE toLower(toString(n[k])) = {needle}) {around}",
        f"{match}WHERE any(k IN keys(n) WHERE toLower(toString(n[k])) CONTAINS {needle}) {around}",
        "no value is exactly that; values that contain it are shown",
        values,
    )


def _around(question: str, facts: Mapping[str, Any]) -> str:
    """The rest of a query for nodes: the nodes with what they are related to, by the relations that are named, or by any."""
    stems = set(terms(question, "en"))
    kinds = [kind for kind in facts.get("edge_types", {}) if stems & set(terms(kind.replace("_", " "), "en"))]
    pattern = f":{'|'.join(quoted(kind) for kind in kinds)}" if kinds else ""

    def name(variable: str) -> str:
        return f"toString(coalesce({variable}.name, {variable}.title, id({variable})))"

    return (
        f"WITH n LIMIT 10 OPTIONAL MATCH (n)-[r{pattern}]->(m) "
        f"WITH n, collect(type(r) + ' ' + {name('m')})[0..{RELATED}] AS related "
        f"OPTIONAL MATCH (n)<-[q{pattern}]-(o) "
        f"RETURN labels(n) AS labels, n AS node, related, collect({name('o')} + ' ' + type(q))[0..{RELATED}] AS related_by"
    )


def _singular(word: str) -> str:
    folded = fold(word)
    return folded[:-1] if folded.endswith("s") and len(folded) > 3 else folded


def _proper_name(question: str) -> str:
    """What a question names: quoted text, else the longest run of capitalised words after the first."""
    if quotes := quoted_texts(question):
        return quotes[0]
    bare = question.strip(" ?!.")
    if bare and all(word[:1].isupper() or word[:1].isdigit() for word in bare.split()):
        return bare
    runs = re.findall(
        r"(?<!^)(?<=[\s(])(?:[A-Z\u00c0-\u00de][\w'\u2019.&-]*)(?:\s+(?:of|the|and|[A-Z\u00c0-\u00de0-9][\w'\u2019.&-]*))*",
        question,
    )
    kept = [run.rstrip(" ?!.,") for run in runs]
    return max((run for run in kept if len(run) > 1), key=len, default="")
