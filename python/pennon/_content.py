"""What binary values are, by their first bytes: enough to tell pictures and sounds from other data.

::

    89 "PNG" 0D 0A 1A 0A          FF D8 FF  JPEG            "GIF87a" "GIF89a"        "BM" u32 size 00 00 00 00  BMP
    "RIFF" u32 "WEBP" / "WAVE"    "II*\\0" "MM\\0*" TIFF      u32 "ftypavif" "ftypheic"
    "fLaC"  FLAC                  "OggS"    Ogg             "ID3" or FF Ex/Fx  MP3  "FORM" u32 "AIFF"
"""

from __future__ import annotations

from typing import Iterable, Literal, Optional

Kind = Literal["image", "audio"]

_IMAGE_STARTS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*")
_AUDIO_STARTS = (b"fLaC", b"OggS", b"ID3")
# MPEG 1, 2 and 2.5, layer III.
_MP3_FRAMES = (0xFB, 0xFA, 0xF3, 0xF2, 0xE3, 0xE2)


def kind_of_bytes(data: bytes) -> Optional[Kind]:
    """``"image"``, ``"audio"`` or None.

    >>> kind_of_bytes(b"GIF89a...")
    'image'
    """
    if data.startswith(_IMAGE_STARTS):
        return "image"
    if data.startswith(b"BM") and data[6:10] == b"\0\0\0\0":
        return "image"
    if data.startswith(b"RIFF"):
        return {b"WEBP": "image", b"WAVE": "audio"}.get(data[8:12])  # type: ignore[return-value]
    if data[4:8] == b"ftyp":
        return "image" if data[8:12] in (b"avif", b"heic", b"mif1") else None
    if data.startswith(_AUDIO_STARTS) or (data.startswith(b"FORM") and data[8:12] in (b"AIFF", b"AIFC")):
        return "audio"
    if len(data) > 2 and data[0] == 0xFF and data[1] in _MP3_FRAMES:
        return "audio"
    return None


def kind_of_values(values: Iterable[Optional[bytes]]) -> Optional[Kind]:
    """What all values are that are not null; None where they differ, or there are none."""
    kinds = {kind_of_bytes(value) for value in values if value is not None}
    return kinds.pop() if len(kinds) == 1 else None


def kind_of_type(content_type: str) -> Optional[Kind]:
    """The kind that a content type as ``image/png`` names."""
    major = content_type.strip().lower().partition("/")[0]
    return major if major in ("image", "audio") else None  # type: ignore[return-value]
