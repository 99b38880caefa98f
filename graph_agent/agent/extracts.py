"""Choosing what to quote: in each passage the statement that answers best, among passages the ones worth citing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from graph_agent.agent.response import Passage
from graph_agent.agent.sentences import Statement, on_one_line, statements
from graph_agent.agent.signals import Words
from graph_agent.embeddings import Embedder
from graph_agent.text import fold, passage_text
from graph_agent.text import words as words_of

CONSIDERED = 18  # passages whose statements are looked at
# Statements of a passage that are embedded, by its rank: the first ones may answer in other words than the question's.
EMBEDDED = (24, 24, 8, 5, 5, 5)
A_PASSAGE = 2  # of those further down
QUOTE = 420  # characters of a quote
DOCUMENTS = 5  # of each the best extract
MORE = 3  # further extracts
DEFINITION = 0.3  # for saying what the topic is
_ARTICLES = "(?:an?|the|ein|eine|der|die|das|une?|les?|la|el|los|las|un|una)"
_MEANS = "is|are|was|were|means?|refers?|denotes?|ist|sind|war|waren|bedeutet|bezeichnet|heisst|est|sont|designe|es|son"
_ASKS_MEANING = re.compile(
    rf"(?:what|who) (?:is|are|was|were) (?:meant by )?(?:{_ARTICLES} )?([^?]+?) ?\??$|"
    rf"(?:was|wer) (?:ist|sind|war|waren|bedeutet|heisst) (?:{_ARTICLES} )?([^?]+?) ?\??$"
)
_MARKS = re.compile(r"[*_`]+")
_ONLY_A_LINK = re.compile(r"!?\[[^\]]*\]\([^)]*\)[.,;:]?")
LONGEST = 600  # characters of a statement that are embedded
_LIST_ITEMS = 8
LEAST_FIRST = 0.45  # of the best extract's weight: what has less is not shown
LEAST_MORE = 0.6
EQUAL = 0.97  # of the first one's score: equally good
PRESENT = 0.8
SAME_SUBJECT = 0.5  # of the words of their titles: a rule and its revision, the reports of two quarters
_NOW = re.compile(
    r"\b(?:now|nowadays|current(?:ly)?|today|at present|presently|at the moment|in force|latest|these days|"
    r"jetzt|derzeit(?:ige[rsnm]?)?|aktuell(?:e[rsnm]?)?|heute|momentan|zurzeit|gegenwartig|neueste[rsnm]?|geltende[rsnm]?|"
    r"actuellement|aujourd'hui|actualmente|hoy)\b"
)
WEIGHT_LEXICAL = 0.6
WEIGHT_RANK = 0.55


@dataclass(frozen=True)
class Extract:
    """A quote out of a passage: `text[start:end]`, and how well it answers."""

    passage: Passage
    start: int
    end: int
    score: float
    cosine: float
    header: str = ""

    @property
    def quote(self) -> str:
        """The words, as in the passage."""
        return self.passage.text[self.start : self.end]


@dataclass
class _Candidate:
    passage: int
    position: int
    statement: Statement
    text: str
    lexical: float
    cosine: float = 0.0
    score: float = field(default=0.0)


def best_extracts(
    question: npt.NDArray[np.float32],
    words: Words,
    passages: Sequence[Passage],
    embedder: Embedder,
    topic: str = "",
) -> list[Extract]:
    """The best extract of each of the first passages, in the passages' order; none of a passage of headings only.

    A statement's score is its cosine with the question, plus the share of the question's words that it and its
    headings hold. Only the statements that share most words, and the first ones, are embedded.

    Args:
        question: its vector.
        topic: what the question asks the meaning of (`defined_topic`); a statement that says what it is comes first.
    """
    defines = _definition_of(topic)
    lists = [statements(passage.text) for passage in passages[:CONSIDERED]]
    candidates: list[_Candidate] = []
    for number, found in enumerate(lists):
        candidates += _candidates(number, passages[number], found, words)
    if not candidates:
        return []
    vectors = embedder.embed_passages([candidate.text for candidate in candidates])
    for candidate, cosine in zip(candidates, vectors @ question, strict=True):
        candidate.cosine = float(cosine)
        candidate.score = candidate.cosine + WEIGHT_LEXICAL * candidate.lexical
        shown = candidate.statement.of(passages[candidate.passage].text)
        if defines is not None and defines.match(fold(_MARKS.sub("", shown))):
            candidate.score += DEFINITION
    extracts = []
    for number, passage in enumerate(passages[:CONSIDERED]):
        own = [candidate for candidate in candidates if candidate.passage == number]
        best = max(own, key=lambda candidate: candidate.score, default=None)
        if best is not None:
            extracts.append(_extract(passage, lists[number], best))
    return extracts


def defined_topic(question: str) -> str:
    """What a question asks the meaning of ("What is ownership?"), folded; "" for any other question."""
    match = _ASKS_MEANING.match(" ".join(fold(question).split()))
    topic = (match[1] or match[2]) if match else ""
    return topic if len(topic.split()) <= 4 else ""


def _definition_of(topic: str) -> re.Pattern[str] | None:
    """A statement that begins with the topic and goes on to say what it is."""
    if not topic:
        return None
    return re.compile(
        rf"(?:{_ARTICLES} )?{re.escape(topic.removesuffix('s'))}(?:s|es)? (?:\([^)]*\) |,[^,.]*, )?(?:{_MEANS})\b"
    )


def _candidates(number: int, passage: Passage, found: Sequence[Statement], words: Words) -> list[_Candidate]:
    crumbs = passage.breadcrumb[-2:]
    header = ""
    made = []
    in_head = words.held(" ".join(passage.breadcrumb))
    for position, statement in enumerate(found):
        if statement.kind == "header":
            header = statement.of(passage.text)
        if statement.kind in {"heading", "header"}:
            continue
        text = statement.of(passage.text)
        if _ONLY_A_LINK.fullmatch(text):
            continue  # a line of a table of contents says where it stands, not what
        shown = f"{header}\n{text}" if statement.kind == "row" and header else text
        lexical = words.share(words.held(shown)) + 0.3 * words.share(in_head)
        made.append(
            _Candidate(
                number, position, statement, passage_text(crumbs, on_one_line(shown)[:LONGEST]), lexical
            )
        )
    ranked = sorted(made, key=lambda candidate: (-candidate.lexical, candidate.position))
    return ranked[: EMBEDDED[number] if number < len(EMBEDDED) else A_PASSAGE]


def _extract(passage: Passage, found: Sequence[Statement], best: _Candidate) -> Extract:
    """The best statement with what it needs to be understood: a table's header, the rest of a short list."""
    position, statement = best.position, best.statement
    start, end, header = statement.start, statement.end, ""
    if statement.kind == "row":
        header = _header(passage.text, found, position)
        first, last = _run(found, position, "row")
        if last - first < _LIST_ITEMS and found[last].end - found[first].start <= QUOTE:
            start, end = found[first].start, found[last].end
    elif statement.kind == "item":
        first, last = _run(found, position, "item")
        if last - first < _LIST_ITEMS and found[last].end - found[first].start <= QUOTE:
            start, end = _line_start(passage.text, found[first].start), found[last].end
            lead = found[first - 1] if first else None
            if (
                lead is not None
                and lead.kind == "sentence"
                and lead.of(passage.text).rstrip().endswith((":", ","))
            ):
                start = lead.start
        else:
            start = _line_start(passage.text, start)
    elif statement.kind == "sentence":
        start, end = _with_neighbours(passage.text, found, position)
    if end - start > 2 * QUOTE:
        end = _cut(passage.text, start, start + 2 * QUOTE)
    return Extract(passage, start, end, best.score, best.cosine, header)


def _with_neighbours(text: str, found: Sequence[Statement], position: int) -> tuple[int, int]:
    """A sentence with the next one, and with a list or table that it announces."""
    start, end = found[position].start, found[position].end
    announces = found[position].of(text).rstrip().endswith(":")
    for following in found[position + 1 : position + 1 + (_LIST_ITEMS if announces else 1)]:
        wanted = {"item", "row", "header", "code"} if announces else {"sentence"}
        joined = announces or "\n\n" not in text[end : following.start]
        if following.kind not in wanted or following.end - start > QUOTE or not joined:
            break
        end = following.end
    return start, end


def _run(found: Sequence[Statement], position: int, kind: str) -> tuple[int, int]:
    first = last = position
    while first > 0 and found[first - 1].kind == kind:
        first -= 1
    while last + 1 < len(found) and found[last + 1].kind == kind:
        last += 1
    return first, last


def _header(text: str, found: Sequence[Statement], position: int) -> str:
    for statement in reversed(found[:position]):
        if statement.kind == "header":
            return statement.of(text)
        if statement.kind != "row":
            return ""
    return ""


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _cut(text: str, start: int, limit: int) -> int:
    at = text.rfind(" ", start, limit)
    return at if at > start else limit


def opening(passage: Passage) -> Extract:
    """The beginning of a passage, for want of a better choice."""
    end = len(passage.text) if len(passage.text) <= QUOTE else _cut(passage.text, 0, QUOTE)
    return Extract(passage, 0, end, 0.0, 0.0)


def chosen(
    extracts: Sequence[Extract], documents: Sequence[str] = (), *, present: bool = False
) -> tuple[list[Extract], list[Extract]]:
    """The extracts worth showing: the best of each of the best documents, and further ones of whatever document.

    Both begin with the best. What falls far behind the best is left out, so that a good answer stands alone.

    Args:
        extracts: in the order of the search.
        documents: ids of documents, best first; those of the extracts follow in their order.
        present: the question asks for what holds now; then of dated documents that are about as good the newest
            leads. Without, only where they are equally good and on the same subject.
    """
    if not extracts:
        return [], []
    top = max(extract.score for extract in extracts) or 1.0
    weights = {
        id(extract): WEIGHT_RANK / (1.0 + 0.35 * position) + extract.score / top
        for position, extract in enumerate(extracts)
    }
    ranked = _without_repeats(sorted(extracts, key=lambda extract: -weights[id(extract)]))
    best = weights[id(ranked[0])]
    by_document: dict[str, list[Extract]] = {}
    for extract in ranked:
        by_document.setdefault(extract.passage.document_id or extract.passage.path, []).append(extract)
    order = [name for name in dict.fromkeys([*documents, *by_document]) if name in by_document]
    leading = {id(by_document[name][0]) for name in order[:DOCUMENTS]}
    first = [one for one in ranked if id(one) in leading and weights[id(one)] >= LEAST_FIRST * best]
    more = [one for one in ranked if id(one) not in leading and weights[id(one)] >= LEAST_MORE * best]
    return _newest_of_equals(first, present=present), more[:MORE]


def _newest_of_equals(first: list[Extract], *, present: bool) -> list[Extract]:
    """The extracts with the newest of those in front that are about as good as the first.

    Where the question does not ask for what holds now, only another text on the same subject may be put in front.
    """
    if not first or not first[0].passage.date:
        return first
    subject = _subject(first[0].passage)
    near = (PRESENT if present else EQUAL) * first[0].score
    equals = [
        one
        for one in first
        if one.passage.date
        and one.score >= near
        and (present or one is first[0] or _overlap(subject, _subject(one.passage)) >= SAME_SUBJECT)
    ]
    newest = max(equals, key=lambda one: str(one.passage.date))
    return [newest, *(one for one in first if one is not newest)]


def _subject(passage: Passage) -> frozenset[str]:
    """The words of a document's title and of the passage's heading, without years and other numbers."""
    told = " ".join([passage.title, *passage.breadcrumb[:1], *passage.breadcrumb[-1:]])
    return frozenset(word for word in words_of(told) if not word.isdigit())


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard index."""
    return len(one & other) / max(1, len(one | other))


def asks_present(question: str) -> bool:
    """Whether a question asks for what holds now."""
    return _NOW.search(fold(question)) is not None


def _without_repeats(ranked: Sequence[Extract]) -> list[Extract]:
    """The extracts without those whose words another one has already."""
    seen: dict[str, Extract] = {}
    for extract in ranked:
        seen.setdefault(" ".join(fold(extract.quote).split()), extract)
    return list(seen.values())
