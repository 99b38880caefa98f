"""A PDF that asks for a password: the oldest encryption (RC4, 40 bits), as PDF 1.4 describes it in section 3.5."""

from __future__ import annotations

import hashlib

_PADDING = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
_PERMISSIONS = -4
_ID = b"0123456789abcdef"


def locked_pdf(text: str, password: str) -> bytes:
    """One page with one line of text, which opens with the password only."""
    padded = (password.encode("latin-1") + _PADDING)[:32]
    owner = _rc4(hashlib.md5(padded).digest()[:5], padded)
    key = hashlib.md5(padded + owner + _PERMISSIONS.to_bytes(4, "little", signed=True) + _ID).digest()[:5]
    user = _rc4(key, _PADDING)
    content = f"BT /F1 12 Tf 1 0 0 1 72 700 Tm ({text}) Tj ET".encode("latin-1")
    sealed = _rc4(hashlib.md5(key + (4).to_bytes(3, "little") + bytes(2)).digest()[:10], content)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 << "
        b"/Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(sealed), sealed),
        b"<< /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P %d >>"
        % (owner.hex().encode(), user.hex().encode(), _PERMISSIONS),
    ]
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size 6 /Root 1 0 R /Encrypt 5 0 R /ID [<%s> <%s>] >>\nstartxref\n%d\n%%%%EOF\n" % (
        _ID.hex().encode(),
        _ID.hex().encode(),
        start,
    )
    return bytes(out)


def _rc4(key: bytes, data: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out = bytearray()
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)
