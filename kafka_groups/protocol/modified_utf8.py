"""Java's modified UTF-8 (`DataOutput.writeUTF`): NUL has two bytes, and what UTF-16 writes as a pair has two parts."""

import struct

__all__ = ["modified_utf8", "text_of_modified_utf8"]

_NUL, _NUL_IN_JAVA = b"\x00", b"\xc0\x80"
_FIRST_OF_FOUR_BYTES = 0xF0
_UTF16 = "utf-16-be"
# Texts of Java may have half a pair, and are kept as they are.
_HALF_PAIRS = "surrogatepass"


def modified_utf8(text: str) -> bytes:
    """Return the bytes of a text, without their number."""
    plain = text.encode(errors=_HALF_PAIRS)
    if plain.isascii() and _NUL not in plain:
        return plain
    units = struct.iter_unpack(">H", text.encode(_UTF16, _HALF_PAIRS))
    apart = "".join(chr(unit) for (unit,) in units)
    return apart.encode(errors=_HALF_PAIRS).replace(_NUL, _NUL_IN_JAVA)


def text_of_modified_utf8(data: bytes) -> str:
    """Return the text of bytes that Java has written, without their number.

    Raises:
        UnicodeError: They are not modified UTF-8.
    """
    if data.isascii():
        return data.decode()
    if any(byte >= _FIRST_OF_FOUR_BYTES for byte in data):
        raise UnicodeError("a character of four bytes, which modified UTF-8 does not have")
    apart = data.replace(_NUL_IN_JAVA, _NUL).decode(errors=_HALF_PAIRS)
    return apart.encode(_UTF16, _HALF_PAIRS).decode(_UTF16, _HALF_PAIRS)
