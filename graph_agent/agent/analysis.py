"""What sort of question it is, by a few rules: small talk, about the collection, about its structure, or a fact.

English and German. A question that no rule knows is a fact question and is searched for, so a rule may be
narrow but must not be wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from graph_agent.agent.state import PlanState
from graph_agent.text import detect_language, fold

Structure = Literal["count", "list", "outline", "subsections", "titled", "mention", "property", ""]

_SMALL_TALK = re.compile(
    r"(?:(?:hi|hello|hey|hallo|moin|servus|bonjour|salut|hola|ciao|good (?:morning|afternoon|evening|day)|guten (?:morgen|tag|abend)|"
    r"gruss gott|thanks?|thank you|thx|danke|vielen dank|merci|gracias|bye|goodbye|tschuss|auf wiedersehen|ok|okay|"
    r"great|super|cool|prima|how are you|wie geht(?:'?s| es dir| es ihnen)|nice|you too|there|everyone|zusammen|so much|a lot|"
    r"very much|schon|sehr|"
    r"who are you|what are you|wer bist du|wer sind sie|what can you do(?: for me)?|what do you do|how can you help(?: me)?|"
    r"was kannst du(?: alles| tun)?|was konnen sie(?: alles| tun)?|help|hilfe|please|bitte)[\s!?.,]*)+"
)
_ABILITIES = re.compile(
    r"what can you|what do you do|how can you help|was kannst|was konnen sie|who are you|what are you|wer bist|wer sind sie|help|hilfe"
)
_DOCUMENTS = r"(?:documents?|files?|papers?|docs|dokumente?n?|dateien|unterlagen)"
_CORPUS = re.compile(
    r"^(?:so |and |well |also |und )?(?:what(?:'s| is| do you have)? (?:in )?(?:here|this (?:collection|corpus|graph|database|library)|the (?:collection|corpus|graph|database|library))"
    r"(?: about)?|what is (?:in|this|here)(?: here| about)?|what (?:is|are) (?:this|these|the) (?:collection|corpus|graph|database|"
    + _DOCUMENTS
    + r") about|what (?:do you know|can i ask)(?: about| you)?|what (?:kinds? of |sorts? of )?(?:documents|files|topics|subjects|data) (?:do you have|are (?:there|here|in here))|"
    r"(?:give me )?an overview(?: of (?:the |this )?(?:collection|corpus|documents|graph|everything))?|describe the (?:collection|corpus|graph|documents)|"
    r"was (?:ist|gibt es|steht|liegt) hier(?: drin| alles)?|worum geht es hier|was (?:ist|enthalt) (?:diese sammlung|der graph|die sammlung)|"
    r"welche (?:themen|arten von dokumenten) gibt es(?: hier)?|was weisst du)[\s?.!]*$"
)
_COUNT = re.compile(
    rf"\b(?:how many|number of|count (?:the|all|of)|wie ?viele|anzahl der)\s+(?:\w+\s+){{0,2}}?({_DOCUMENTS}|sections?|headings?|folders?|abschnitte?|uberschriften|ordner|chapters?|kapitel)\b"
)
_LIST = re.compile(
    rf"\b(?:list|show|name|give me|enumerate|which|what|liste|zeige?|nenne|welche|was fur)\s+(?:me |mir )?(?:all |the |of |a list of |alle |die |file names of |names of )*({_DOCUMENTS}|folders?|ordner)\b"
)
_OUTLINE = re.compile(
    r"\b(?:outline|table of contents|toc|structure|main chapters|chapters|top[- ]level sections|main sections|gliederung|inhaltsverzeichnis|aufbau|kapitel|hauptabschnitte)\b"
)
_SUBSECTIONS = re.compile(r"\b(?:sub-?sections?|sub-?chapters|unterabschnitte?|unterkapitel)\b")
_TITLED = re.compile(
    r"\b(?:section|heading|chapter|abschnitt|kapitel|uberschrift)s?\s+(?:that (?:is|are) )?(?:titled?|called|named|headed|with the title|namens|mit dem titel)\s*(?:exactly |genau )?"
)
_QUOTED = re.compile(
    r"\"([^\"\n]{1,200})\"|\u201c([^\u201d\n]{1,200})\u201d|\u201e([^\u201c\u201d\n]{1,200})[\u201c\u201d]|"
    r"\u00ab\s?([^\u00bb\n]{1,200}?)\s?\u00bb|(?<!\w)'([^'\n]{1,200})'(?!\w)"
)
_NAMED_FOLDER = re.compile(r"\b(?:folder|directory|ordner)\b", re.IGNORECASE)
_LEVEL = re.compile(r"\b(?:level|ebene)[- ]?(\d)")
_ABOUT = re.compile(
    r"\b(?:mention\w*|about|discuss\w*|describ\w*|deal\w*|talk\w*|say\w*|contain\w*|cover\w*|erwahn\w*|handel\w*|beschreib\w*|behandel\w*|nenn\w*|uber)\b"
)
_MENTION = re.compile(
    rf"^(?:so |and |und )?(?:in )?(?:which|what|how many|welche[nrs]?|wie ?viele[nr]?) {_DOCUMENTS} (?:mention|name|refer to|contain the (?:word|words|phrase|term)|use the (?:word|term)|erw[aä]hnen|nennen|enthalten das wort) "
    r"(?:the |a |an |den |die |das |der |ein |eine )?(.+?)[\s?.!]*$"
)
_MENTIONED_WORDS = 4
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)


@dataclass(frozen=True)
class Question:
    """What the rules found.

    Attributes:
        kind: as in a plan.
        structure: which structural question it is; "" for none.
        target: what is counted or listed: documents, sections, folders.
        title: the section title or quoted text it names.
        folder: the folder it names.
        level: the heading level it names; 0 for none.
    """

    kind: Literal["chat", "corpus", "structure", "fact"]
    language: str
    structure: Structure = ""
    target: str = "documents"
    title: str = ""
    folder: str = ""
    level: int = 0


def analysed(question: str) -> Question:
    """The kind of a question."""
    language = detect_language(_CODE.sub(" ", question) or question)
    language = "en" if language == "und" else language
    folded = " ".join(fold(question).split())
    if is_small_talk(question):
        return Question("chat", language)
    if _CORPUS.match(folded):
        return Question("corpus", language)
    if "```" in question or len(folded) > 400:
        return Question("fact", language)
    return _structure(question, folded, language)


def _structure(question: str, folded: str, language: str) -> Question:
    title = next(iter(quoted_texts(question)), "")
    level = _LEVEL.search(folded)
    number = int(level[1]) if level else 0
    count = _COUNT.search(folded)
    listed = _LIST.search(folded)
    target = _target((count or listed)[1]) if (count or listed) else "documents"  # type: ignore[index]
    folder = _folder(question) if (count or listed) else ""
    if _SUBSECTIONS.search(folded):
        return Question("structure", language, "subsections", "sections", title)
    if title and _TITLED.search(folded) and (count or listed):
        return Question("structure", language, "titled", "count" if count else "list", title)
    if (mention := _MENTION.match(" ".join(question.lower().split()))) and len(
        mention[1].split()
    ) <= _MENTIONED_WORDS:
        said = title or mention[1].strip("'\"")
        return Question("structure", language, "mention", "documents", said)
    if count and not _ABOUT.search(folded):
        return Question("structure", language, "count", target, title, folder, number)
    if listed and not _ABOUT.search(folded):
        return Question("structure", language, "list", target, title, folder, number)
    if _OUTLINE.search(folded) and re.search(r"\b(?:of|in|from|von|des|der|im|aus)\b", folded) and not count:
        return Question("structure", language, "outline", "sections", title)
    return Question("fact", language)


def quoted_texts(question: str) -> list[str]:
    """What stands in quotation marks of any country, in order."""
    found = (next(group for group in match.groups() if group) for match in _QUOTED.finditer(question))
    return [text.strip() for text in found if text.strip()]


def _target(word: str) -> str:
    if word.startswith(("section", "heading", "abschnitt", "uberschrift", "chapter", "kapitel")):
        return "sections"
    return "folders" if word.startswith(("folder", "ordner")) else "documents"


def _folder(question: str) -> str:
    """The folder that a question names by the word folder; "" when it names none."""
    if not _NAMED_FOLDER.search(question):
        return ""
    for pattern in (
        r"\b(?:folder|directory|ordner)\s+[\"\u201c'`]?([\w./-]+)",
        r"[\"\u201c'`]?([\w./-]+)[\"\u201d'`]?\s+(?:folder|directory|ordner)\b",
    ):
        for match in re.finditer(pattern, question, re.IGNORECASE):
            if fold(match[1]) not in {
                "the",
                "this",
                "each",
                "every",
                "a",
                "there",
                "are",
                "is",
                "many",
                "all",
                "which",
                "what",
                "in",
                "of",
                "dem",
                "der",
                "jeder",
                "viele",
                "gibt",
            }:
                return match[1].strip("./")
    return ""


def is_small_talk(question: str) -> bool:
    """A greeting, thanks, or what the agent can do, and nothing besides."""
    folded = " ".join(fold(question).split())
    return len(folded) <= 80 and bool(folded) and _SMALL_TALK.fullmatch(folded) is not None


def asks_abilities(question: str) -> bool:
    """Whether small talk asks what the agent can do."""
    return bool(_ABILITIES.search(fold(question)))


def talk_plan(question: str) -> PlanState:
    """The plan of small talk: nothing is needed."""
    language = detect_language(question)
    return {
        "question": question,
        "kind": "chat",
        "needs": {},
        "skips": dict.fromkeys(("cypher", "search", "read"), "small talk needs no documents"),
        "phrases": [],
        "scope": {},
        "node_labels": [],
        "language": "en" if language == "und" else language,
        "details": {},
    }
