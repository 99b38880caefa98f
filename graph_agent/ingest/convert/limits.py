"""What one conversion may take: time, memory, unpacked size, passwords to try."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph_agent.settings import Settings

MEGABYTE = 1 << 20
OCR_TIMES = 12


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one file's conversion.

    Attributes:
        timeout_s: wall time in seconds; the worker kills a conversion that takes longer.
        memory_mb: address space of the conversion process in MiB (1 GiB = 1,024 MiB).
        unpacked_mb: what a zip-based format (docx, xlsx, epub ...) may unpack to, in MiB.
        ratio: unpacked size over packed size above which a zip is taken for a bomb.
        passwords: tried one after another on encrypted documents.
        office: whether LibreOffice may be started for doc, xls, rtf and the like when it is installed.
        ocr: tesseract's languages ("eng+deu") by which scanned pages are read when it is installed; "" for not.
    """

    timeout_s: float = 10.0
    memory_mb: int = 1_536
    unpacked_mb: int = 512
    ratio: int = 200
    passwords: tuple[str, ...] = ()
    office: bool = True
    ocr: str = ""

    @classmethod
    def from_settings(cls, settings: Settings) -> Limits:
        """The limits that the user's settings ask for."""
        return cls(
            timeout_s=settings.file_timeout_s,
            passwords=tuple(password.get_secret_value() for password in settings.passwords),
            ocr=settings.ocr_languages if settings.ocr else "",
        )

    def seconds_for(self, data: bytes) -> float:
        """Wall time that one file may take, in seconds; reading a scanned page takes as long as a whole book of text."""
        return self.timeout_s * OCR_TIMES if self.ocr and data[:1_024].find(b"%PDF-") >= 0 else self.timeout_s
