"""Certificates for tests, in files and as text."""

from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

KEY_PASSWORD = "the key's own password"
DISTINGUISHED_NAME = r"CN=José\, ann,OU=\#1 \+ a\=b,O=Acme \"Ltd\""
"""The subject of `Certificates.named_client`, as Kafka writes it."""


class Certificates:
    """A certificate authority, a broker's certificate for 127.0.0.1 and one of a client named `ann`.

    Args:
        directory: Where the files go.
    """

    def __init__(self, directory: Path) -> None:
        authority = trustme.CA()
        self.ca_pem = authority.cert_pem.bytes().decode()
        self.ca = _written(directory / "ca.pem", self.ca_pem)
        server = authority.issue_cert("127.0.0.1")
        self.server = _written(directory / "server.pem", _key(server, NoEncryption()) + _chain(server))
        client = authority.issue_cert("ann@example.org", common_name="ann")
        self.client_chain_pem = _chain(client)
        self.client_key_pem = _key(client, NoEncryption())
        self.client = _written(directory / "client.pem", self.client_key_pem + self.client_chain_pem)
        encrypted = _key(client, BestAvailableEncryption(KEY_PASSWORD.encode()))
        self.client_encrypted_key = _written(directory / "encrypted.key", encrypted)
        named = authority.issue_cert(
            "jose@example.org",
            common_name="José, ann",
            organization_name='Acme "Ltd"',
            organization_unit_name="#1 + a=b",
        )
        self.named_client = _written(directory / "named.pem", _key(named, NoEncryption()) + _chain(named))
        self.other_ca_pem = trustme.CA().cert_pem.bytes().decode()


def _written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def _chain(leaf: trustme.LeafCert) -> str:
    return "".join(part.bytes().decode() for part in leaf.cert_chain_pems)


def _key(leaf: trustme.LeafCert, encryption: KeySerializationEncryption) -> str:
    # Java reads keys in PKCS #8 only.
    key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()
