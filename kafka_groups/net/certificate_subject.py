"""The subject of an X.509 certificate as text: the name of a client that logs in with nothing but a certificate."""

from collections.abc import Iterator
from types import MappingProxyType

__all__ = ["certificate_subject"]

_VERSION = 0xA0  # tag of the optional first field of a certificate
_SUBJECT = 4  # after serial number, algorithm, issuer and validity
_KEYWORDS = MappingProxyType({
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
})  # fmt: skip
"""The attributes that RFC 2253 has names for (section 2.3)."""
_TEXTS = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E})  # UTF8, Printable, Teletex, IA5, General, BMP
_ESCAPED = frozenset(',=+"\\<>;#')


def certificate_subject(certificate: bytes) -> str:
    """Return the distinguished name of a certificate's subject by RFC 2253, such as `CN=ann,O=Acme`.

    Where the RFC leaves a choice, it is that of Java's `X500Principal.getName`, which names principals in Kafka: every
    `#` is escaped, and every space at either end. Java takes the bytes of any kind of text for UTF-8.

    Args:
        certificate: The certificate in DER. It must be well-formed, as one that TLS has verified.
    """
    [(_, whole, _)] = _elements(certificate)
    (_, signed, _), *_ = _elements(whole)
    fields = [element for element in _elements(signed) if element[0] != _VERSION]
    names = [content for _, content, _ in _elements(fields[_SUBJECT][1])]
    return ",".join("+".join(_attribute(content) for _, content, _ in _elements(name)) for name in reversed(names))


def _elements(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield tag, content and encoding of each element of DER."""
    start = 0
    while start < len(data):
        size, begin = data[start + 1], start + 2
        if size >= 0x80:
            begin += size & 0x7F
            size = int.from_bytes(data[start + 2 : begin])
        yield data[start], data[begin : begin + size], data[start : begin + size]
        start = begin + size


def _attribute(data: bytes) -> str:
    (_, type_, _), (tag, content, encoding) = _elements(data)
    object_id = _object_id(type_)
    keyword = _KEYWORDS.get(object_id)
    if keyword is None or tag not in _TEXTS:
        return f"{keyword or object_id}=#{encoding.hex()}"
    return f"{keyword}={_escaped(content.decode('utf-8', 'replace'))}"


def _object_id(data: bytes) -> str:
    numbers, number = [], 0
    for byte in data:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    root = min(numbers[0] // 40, 2)
    return ".".join(map(str, (root, numbers[0] - 40 * root, *numbers[1:])))


def _escaped(text: str) -> str:
    leading, trailing = len(text) - len(text.lstrip(" ")), len(text.rstrip(" "))
    return "".join(
        f"\\{each}" if each in _ESCAPED or (each == " " and not leading <= at < trailing) else each
        for at, each in enumerate(text)
    ).replace("\0", "\\00")
