"""Office formulas (OMML) as LaTeX-like text that can be read and searched."""

from __future__ import annotations

from graph_agent.ingest.convert.ooxml import Element, child, children, local, value_of

_MAX_DEPTH = 60


def formula(element: Element, depth: int = 0) -> str:
    """An oMath or oMathPara element on one line."""
    if depth > _MAX_DEPTH:
        return ""
    return (
        "".join(_part(item, depth + 1) for item in element).strip() if depth == 0 else _inside(element, depth)
    )


def _inside(element: Element | None, depth: int) -> str:
    return "" if element is None else "".join(_part(item, depth + 1) for item in element)


def _part(element: Element, depth: int) -> str:
    if depth > _MAX_DEPTH:
        return ""
    name = local(element.tag)
    if name in (
        "ctrlPr",
        "rPr",
        "fPr",
        "dPr",
        "naryPr",
        "radPr",
        "sSupPr",
        "sSubPr",
        "mPr",
        "argPr",
        "oMathParaPr",
    ):
        return ""
    if name == "t":
        return element.text or ""

    def get(part: str) -> str:
        return _inside(child(element, part), depth)

    if name == "f":
        return f"\\frac{{{get('num')}}}{{{get('den')}}}"
    if name == "sSup":
        return f"{get('e')}^{{{get('sup')}}}"
    if name == "sSub":
        return f"{get('e')}_{{{get('sub')}}}"
    if name == "sSubSup":
        return f"{get('e')}_{{{get('sub')}}}^{{{get('sup')}}}"
    if name == "rad":
        degree = get("deg")
        return f"\\sqrt[{degree}]{{{get('e')}}}" if degree else f"\\sqrt{{{get('e')}}}"
    if name == "nary":
        sign = value_of(element, "naryPr", "chr") or "\u222b"
        low, high = get("sub"), get("sup")
        return f"{sign}{f'_{{{low}}}' if low else ''}{f'^{{{high}}}' if high else ''} {get('e')}"
    if name == "d":
        opening = value_of(element, "dPr", "begChr")
        closing = value_of(element, "dPr", "endChr")
        inner = ", ".join(_inside(item, depth) for item in children(element, "e"))
        return f"{'(' if opening is None else opening}{inner}{')' if closing is None else closing}"
    if name == "m":
        rows = (
            " & ".join(_inside(cell, depth) for cell in children(row, "e")) for row in children(element, "mr")
        )
        return "[" + " ; ".join(rows) + "]"
    if name == "func":
        return f"{get('fName')} {get('e')}"
    return _inside(element, depth)
