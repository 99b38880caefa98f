"""The check of an answer: does what it says stand in the passages it cites? Deterministic, no model.

Checked are figures (compared as numbers), quotations (word for word, blanks and emphasis aside), and names
and identifiers. A sentence of none of these kinds cannot be refuted by this and passes, if what it cites was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from graph_agent.agent.citations import Cited, cited_statements
from graph_agent.agent.phrases import phrase
from graph_agent.agent.response import Finding, Passage, Status
from graph_agent.agent.sentences import on_one_line
from graph_agent.text import Number, fold, numbers, same_number, words

_QUOTED = re.compile(
    r"[\u201c\u201e\u201d]([^\u201c\u201d\u201e\n]{8,600}?)[\u201d\u201c]|\u00ab\s?([^\u00bb\n]{8,600}?)\s?\u00bb|(?<!\w)\"([^\"\n]{8,600}?)\"(?!\w)|\u300c([^\u300d\n]{4,600}?)\u300d"
)
_ELLIPSIS = re.compile(r"\[?(?:\u2026|\.\.\.)\]?")
_MARKUP = re.compile(r"[*_`#>|\\]+")
_ORDINAL_ITEM = re.compile(r"^\s*\d{1,3}[.)]\s+")
_IDENTIFIER = re.compile(
    r"\b(?=\w*\d)(?=\w*[A-Za-z])[A-Za-z0-9]+(?:[-_./][A-Za-z0-9]+)*\b|\b[A-Z]{2,}[-_ ]?\d[\w.-]*|\b[a-z]+[A-Z]\w+|\b\w+_\w+\b"
)
_CAPITAL = r"[A-Z\u00c0-\u00de][\w'\u2019-]+"
_NAME = re.compile(rf"\b{_CAPITAL}(?:(?:\s+(?:of|the|and|de|van|von|der|la|le|du)){{0,2}}\s+{_CAPITAL})+")
_JOINERS = frozenset({"of", "the", "and", "de", "van", "von", "der", "la", "le", "du"})
# Languages that write every noun with a capital: a run of capitals there is no name.
_CAPITALISES_NOUNS = frozenset({"de", "lb"})
_STEM = 5


@dataclass(frozen=True)
class Evidence:
    """What an answer may rest on besides its passages.

    Attributes:
        passages: everything that was read, by n.
        question: figures and names of the question may be repeated.
        rows: text of query results and of the graph's overview.
        results: values that were calculated.
    """

    passages: Mapping[int, Passage]
    question: str = ""
    rows: str = ""
    results: Sequence[str] = ()
    language: str = "en"
    _cache: dict[str, list[Number]] = field(default_factory=dict, repr=False, compare=False)

    def figures(self, text: str) -> list[Number]:
        """Numbers of a text, found once."""
        if text not in self._cache:
            self._cache[text] = numbers(text)
        return self._cache[text]


@dataclass(frozen=True)
class Checked:
    """Result of a check: what was found, and of which citations the sentences failed."""

    findings: list[Finding]
    checked: int
    failed: dict[int, str]

    @property
    def status(self) -> Status:
        """One word for it."""
        if not self.checked and not self.findings:
            return "unchecked"
        if not self.findings:
            return "supported"
        return "partly" if self.checked > len(self.findings) else "unsupported"


def check(answer: str, evidence: Evidence, *, must_cite: bool) -> Checked:
    """Check every statement of an answer (citations normalised).

    Args:
        must_cite: an answer that cites nothing at all is a finding (there were passages, and no query rows).
    """
    findings: list[Finding] = []
    failed: dict[int, str] = {}
    checked = 0
    cites_anything = False
    for cited in cited_statements(answer):
        cites_anything = cites_anything or bool(cited.numbers)
        problem = _problem(cited, evidence)
        if cited.numbers or problem:
            checked += 1
        if problem:
            findings.append(
                Finding(sentence=on_one_line(cited.bare), citations=list(cited.numbers), problem=problem)
            )
            failed.update(dict.fromkeys(cited.numbers, problem))
    if must_cite and not cites_anything and answer.strip():
        findings.append(Finding(sentence=on_one_line(answer)[:200], problem="it cites no passage at all"))
        checked = max(checked, 1)
    return Checked(findings, checked, failed)


def _problem(cited: Cited, evidence: Evidence) -> str:
    unread = [n for n in cited.numbers if n not in evidence.passages]
    if unread:
        return "it cites " + ", ".join(f"[{n}]" for n in unread) + ", which was not read"
    texts = [_whole(evidence.passages[n]) for n in cited.numbers]
    elsewhere = [evidence.question, evidence.rows, *evidence.results]
    if not cited.numbers:
        # Nothing is cited: it may be carried by the rows, or by the sentence after it. Figures that stand nowhere
        # are made up.
        texts = [_whole(passage) for passage in evidence.passages.values()]
    bare = _ORDINAL_ITEM.sub("", cited.bare)
    return (
        _missing_figures(bare, texts, elsewhere, evidence)
        or _missing_quotations(bare, texts, elsewhere)
        or (_missing_names(bare, texts, elsewhere, evidence.language) if cited.numbers else "")
    )


def _whole(passage: Passage) -> str:
    page = f"p. {passage.page}" if passage.page else ""
    return "\n".join([*passage.breadcrumb, passage.title, passage.display_path, page, passage.text])


def _missing_figures(bare: str, texts: Sequence[str], elsewhere: Sequence[str], evidence: Evidence) -> str:
    wanted = numbers(_QUOTED.sub(" ", bare))
    if not wanted:
        return ""
    known = [number for text in (*texts, *elsewhere) for number in evidence.figures(text)]
    results = [number for text in evidence.results for number in evidence.figures(text)]
    missing = [
        number.text
        for number in wanted
        if not any(same_number(number, other) for other in known) and not _rounded_result(number, results)
    ]
    if not missing:
        return ""
    return f"the figure {', '.join(dict.fromkeys(missing))} does not stand in what it cites"


def _rounded_result(number: Number, results: Iterable[Number]) -> bool:
    """Whether a figure is a calculated value, rounded as the answer shows it."""
    for result in results:
        for value in result.readings:
            for reading in (
                *number.readings,
                *([100 * r for r in number.readings] if number.percent else []),
            ):
                step = 10.0 ** -_decimals(number.text)
                if abs(reading - value) <= 0.5 * step + 1e-9 * max(1.0, abs(value)):
                    return True
    return False


def _decimals(text: str) -> int:
    match = re.search(r"[.,](\d+)\D*$", text)
    return len(match[1]) if match else 0


def _missing_quotations(bare: str, texts: Sequence[str], elsewhere: Sequence[str]) -> str:
    haystack = [_flat(text) for text in (*texts, *elsewhere)]
    for match in _QUOTED.finditer(bare):
        quote = next(group for group in match.groups() if group)
        if len(words(quote)) < 2 and len(quote) < 12:
            continue
        pieces = [_flat(piece).strip(" .,;:") for piece in _ELLIPSIS.split(quote)]
        pieces = [piece for piece in pieces if piece]
        if not any(all(piece in text for piece in pieces) for text in haystack):
            return f"the quotation “{on_one_line(quote)[:120]}” does not stand word for word in what it cites"
    return ""


def _flat(text: str) -> str:
    return " ".join(fold(_MARKUP.sub("", text)).replace("\u201c", '"').replace("\u201d", '"').split())


def _missing_names(bare: str, texts: Sequence[str], elsewhere: Sequence[str], language: str) -> str:
    haystack = " ".join(fold(text) for text in (*texts, *elsewhere))
    squeezed = re.sub(r"[\W_]+", "", haystack)
    for match in _IDENTIFIER.finditer(bare):
        if re.sub(r"[\W_]+", "", fold(match[0])) not in squeezed:
            return f"the name {match[0]} does not stand in what it cites"
    if language in _CAPITALISES_NOUNS:
        return ""
    known = {word[:_STEM] for word in words(haystack)}
    for match in _NAME.finditer(bare):
        named = words(match[0])
        # The first word of a sentence has its capital for another reason.
        if bare[: match.start()].rstrip()[-1:] in {"", ".", ":", "!", "?", "*", "-", "|"}:
            named = named[1:]
        parts = [part for part in named if part not in _JOINERS and len(part) > 2]
        absent = [part for part in parts if part[:_STEM] not in known]
        if absent:
            return f"the name {match[0]} does not stand in what it cites"
    return ""


def marked(answer: str, evidence: Evidence, language: str) -> str:
    """The answer with what did not pass the check marked: `[9?]` for a passage that was not read, and a word
    after a sentence whose figures, quotations or names are not in what it cites.
    """
    pieces: list[str] = []
    at = 0
    for cited in cited_statements(answer):
        problem = _problem(cited, evidence)
        if not problem:
            continue
        pieces.append(answer[at : cited.statement.start])
        text = cited.text
        unread = [n for n in cited.numbers if n not in evidence.passages]
        for n in unread:
            text = text.replace(f"[{n}]", f"[{n}?]")
        if not unread:
            word = f"({phrase('unverified', language)})"
            text = (
                f"{text[:-1].rstrip()} {word} |"
                if cited.statement.kind == "row" and text.endswith("|")
                else f"{text} {word}"
            )
        pieces.append(text)
        at = cited.statement.end
    return "".join([*pieces, answer[at:]])
