"""Subjects of certificates as Java's X500Principal.getName (Java 17) writes them: recorded, name by name."""

from collections.abc import Mapping

import pytest

from kafka_groups.net.certificate_subject import certificate_subject

NAMES: Mapping[str, tuple[str, str]] = {
    "three attributes": (
        "302a310b3009060355040613024e4c310d300b060355040a0c0441636d65310c300a06035504030c03616e6e",
        "CN=ann,O=Acme,C=NL",
    ),
    "characters to escape": (
        (
            "303831223020060355040a0c192023612c20226222202b63203c643e3b20653d665c672368203112"
            "301006035504030c094a6f73c3a920e291a0"
        ),
        'CN=Jos\xe9 \u2460,O=\\ \\#a\\, \\"b\\" \\+c \\<d\\>\\; e\\=f\\\\g\\#h\\ ',
    ),
    "attributes with a keyword": (
        (
            "30818131133011060a0992268993f22c64011916036f726731173015060a0992268993f22c640119"
            "16076578616d706c65310b300906035504080c025a48310a300806035504070c015a310c300a0603"
            "5504090c037320313111300f060a0992268993f22c6401010c0175310b3009060355040b0c026f75"
            "310a300806035504030c0163"
        ),
        "CN=c,OU=ou,UID=u,STREET=s 1,L=Z,ST=ZH,DC=example,DC=org",
    ),
    "attributes without a keyword": (
        (
            "308193311e301c06092a864886f70d010901160f616e6e406578616d706c652e6f7267310b300906"
            "0355040513023432310a300806035504040c0153310a3008060355042a0c0147310a300806035504"
            "0c0c0154310a3008060355042e130171310a3008060355042c0c0167310a3008060355040f0c0162"
            "3110300e06092b06010401868d1f010c0178310a300806035504030c0163"
        ),
        (
            "CN=c,1.3.6.1.4.1.99999.1=#0c0178,2.5.4.15=#0c0162,2.5.4.44=#0c0167,2.5.4.46=#130"
            "171,2.5.4.12=#0c0154,2.5.4.42=#0c0147,2.5.4.4=#0c0153,2.5.4.5=#13023432,1.2.840."
            "113549.1.9.1=#160f616e6e406578616d706c652e6f7267"
        ),
    ),
    "a BMPString": ("300f310d300b06035504031e04006200e9", "CN=\\00b\\00\ufffd"),
    "a TeletexString": ("300c310a30080603550403140162", "CN=b"),
    "a UniversalString": ("300f310d300b06035504031c0400000062", "CN=#1c0400000062"),
    "control characters and spaces at the ends": (
        "302e310e300c06035504030c0561096200633110300e060355040a0c07202074776f2020310a3008060355040b0c0120",
        "OU=\\ ,O=\\ \\ two\\ \\ ,CN=a\tb\\00c",
    ),
    "several attributes in one part": (
        (
            "303b3126300806035504030c01633008060355040a0c016f301006092a864886f70d010901160365"
            "40783111300f060a0992268993f22c6401010c0175"
        ),
        "UID=u,CN=c+O=o+1.2.840.113549.1.9.1=#1603654078",
    ),
}


def der(tag: int, content: bytes) -> bytes:
    size = len(content)
    return bytes([tag, size] if size < 0x80 else [tag, 0x82, *divmod(size, 256)]) + content


def certificate_of(subject: bytes, *, has_version: bool = True) -> bytes:
    """A certificate with that subject, up to its key."""
    version = der(0xA0, b"\x02\x01\x02") if has_version else b""
    number, algorithm, issuer, validity = b"\x02\x01\x01", der(0x30, b""), der(0x30, b"\x31\x00"), der(0x30, b"")
    return der(0x30, der(0x30, version + number + algorithm + issuer + validity + subject) + der(0x30, b""))


@pytest.mark.parametrize("name", NAMES)
def test_subjects_are_those_of_java(name: str) -> None:
    subject, text = NAMES[name]
    assert certificate_subject(certificate_of(bytes.fromhex(subject))) == text
    assert certificate_subject(certificate_of(bytes.fromhex(subject), has_version=False)) == text


def test_a_certificate_may_have_no_subject() -> None:
    assert certificate_subject(certificate_of(der(0x30, b""))) == ""
