"""A PDF writer of the few things that the tests are about: text at places, lines, outlines, rotation."""

from __future__ import annotations

from dataclasses import dataclass, field

FONTS = {"F1": "Helvetica", "F2": "Helvetica-Bold", "F3": "Courier"}


@dataclass
class Page:
    """One page of 612 x 792 points, y growing upwards.

    Attributes:
        content: operators, as `text` and `line` add them.
        rotate: the page's /Rotate.
        width: points.
        height: points.
        image: whether a black picture fills the page.
    """

    content: list[str] = field(default_factory=list)
    rotate: int = 0
    width: int = 612
    height: int = 792
    image: bool = False

    def text(self, x: float, y: float, text: str, size: float = 10, font: str = "F1") -> Page:
        """Draw one line of text with its baseline at y."""
        escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
        self.content.append(f"BT /{font} {size} Tf 1 0 0 1 {x} {y} Tm ({escaped}) Tj ET")
        return self

    def lines(
        self, x: float, y: float, *texts: str, size: float = 10, font: str = "F1", pitch: float = 12
    ) -> Page:
        """Draw lines below one another."""
        for number, text in enumerate(texts):
            self.text(x, y - number * pitch, text, size, font)
        return self

    def line(self, x0: float, y0: float, x1: float, y1: float) -> Page:
        """Draw a line."""
        self.content.append(f"0.5 w {x0} {y0} m {x1} {y1} l S")
        return self

    def grid(self, xs: list[float], ys: list[float]) -> Page:
        """Draw the lines of a table."""
        for x in xs:
            self.line(x, min(ys), x, max(ys))
        for y in ys:
            self.line(min(xs), y, max(xs), y)
        return self


def pdf(
    *pages: Page, outline: list[tuple[int, str, int, float]] | None = None, info: str = "", catalog: str = ""
) -> bytes:
    """The bytes of a PDF.

    Args:
        pages: its pages.
        outline: flat list of (level from 1, title, page from 0, y); levels are nested as they come.
        info: entries of the Info dictionary.
        catalog: more entries of the catalog.
    """
    objects: list[bytes] = [b"", b""]  # catalog and page tree come when their references are known

    def add(text: str | bytes) -> int:
        objects.append(text.encode("latin-1") if isinstance(text, str) else text)
        return len(objects)

    fonts = " ".join(
        f"/{key} {add(f'<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>')} 0 R"
        for key, name in FONTS.items()
    )
    picture = add(
        b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 "
        b"/Length 1 >>\nstream\n\x00\nendstream"
    )
    kids = []
    for page in pages:
        drawn = (
            [*page.content, f"q {page.width} 0 0 {page.height} 0 0 cm /I Do Q"]
            if page.image
            else page.content
        )
        stream = "\n".join(drawn).encode("cp1252")
        content = add(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        kids.append(
            add(
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {page.width} {page.height}] /Rotate {page.rotate} "
                f"/Resources << /Font << {fonts} >> /XObject << /I {picture} 0 R >> >> /Contents {content} 0 R >>"
            )
        )
    objects[1] = (
        f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] >>".encode()
    )
    root = _outline(objects, kids, outline) if outline else ""
    objects[0] = f"<< /Type /Catalog /Pages 2 0 R {root} {catalog} >>".encode()
    about = add(f"<< {info} >>")
    out = bytearray(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    for place in places:
        out += b"%010d 00000 n \n" % place
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        about,
        start,
    )
    return bytes(out)


def _outline(objects: list[bytes], kids: list[int], entries: list[tuple[int, str, int, float]]) -> str:
    root = len(objects) + 1
    objects.append(b"")
    numbers = [root + 1 + index for index in range(len(entries))]
    parents: list[int] = []
    stack: list[tuple[int, int]] = [(0, root)]
    for (level, *_), number in zip(entries, numbers, strict=True):
        while stack[-1][0] >= level:
            stack.pop()
        parents.append(stack[-1][1])
        stack.append((level, number))
    for index, (_, title, page, y) in enumerate(entries):
        siblings = [n for n, parent in zip(numbers, parents, strict=True) if parent == parents[index]]
        place = siblings.index(numbers[index])
        children = [n for n, parent in zip(numbers, parents, strict=True) if parent == numbers[index]]
        text = f"<< /Title ({title}) /Parent {parents[index]} 0 R /Dest [{kids[page]} 0 R /XYZ 0 {y} 0]"
        text += f" /Prev {siblings[place - 1]} 0 R" if place else ""
        text += f" /Next {siblings[place + 1]} 0 R" if place + 1 < len(siblings) else ""
        text += (
            f" /First {children[0]} 0 R /Last {children[-1]} 0 R /Count {len(children)}" if children else ""
        )
        objects.append(f"{text} >>".encode("latin-1"))
    top = [n for n, parent in zip(numbers, parents, strict=True) if parent == root]
    objects[root - 1] = (
        f"<< /Type /Outlines /First {top[0]} 0 R /Last {top[-1]} 0 R /Count {len(top)} >>".encode()
    )
    return f"/Outlines {root} 0 R"
