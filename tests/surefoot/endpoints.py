"""Endpoints that clients meet out there: TLS in front of a plain server, and a front end that turns everyone away.

Certificates are made anew for each run; the keys never leave the test's folder.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import hpack
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING = 0, 1, 4, 6
END_STREAM = ACK = 1
END_HEADERS = 4
UNAUTHENTICATED = "16"

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key, in memory and as PEM files."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    certificate_file: Path
    key_file: Path


def make_pair(folder: Path, name: str, *, signed_by: Pair | None = None, valid_for: timedelta = timedelta(1)) -> Pair:
    """An authority, or with `signed_by` a certificate for the host `name`."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signed_by.certificate.subject if signed_by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=2))
        .not_valid_after(now + valid_for)
        .add_extension(x509.BasicConstraints(ca=signed_by is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(signed_by.key if signed_by else key, hashes.SHA256())
    )
    pair = Pair(certificate, key, folder / f"{name}.pem", folder / f"{name}.key")
    pair.certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    pair.key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return pair


@asynccontextmanager
async def listening(handler: Handler, tls: ssl.SSLContext | None = None, port: int = 0) -> AsyncIterator[int]:
    """Serve `handler` on `port` (0: any free one); on leaving, connections are cut and their handlers end."""
    open_now: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_now[writer] = task
        try:
            with suppress(ConnectionError, ssl.SSLError, asyncio.IncompleteReadError):
                await handler(reader, writer)
        finally:
            writer.transport.abort()
            del open_now[writer]

    server = await asyncio.start_server(serve, "127.0.0.1", port, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in open_now:
            writer.transport.abort()
        await asyncio.gather(*open_now.values())


@asynccontextmanager
async def tls_in_front_of(
    address: str, own: Pair, *, clients_of: Pair | None = None, port: int = 0
) -> AsyncIterator[int]:
    """A port with TLS that passes everything on to `address`; `clients_of` is the authority that clients must have."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.certificate_file, own.key_file)
    context.set_alpn_protocols(["h2"])
    if clients_of:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients_of.certificate_file)
    host, _, behind = address.rpartition(":")

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(host, int(behind))
        try:
            await asyncio.gather(_pump(reader, back), _pump(there, writer))
        finally:
            back.transport.abort()

    async with listening(forward, context, port) as listens_on:
        yield listens_on


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Pass on until one side is gone, and then take the other side along."""
    try:
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    finally:
        sink.transport.abort()


@dataclass
class Doorman:
    """A gRPC front end that answers every call with UNAUTHENTICATED and remembers what was shown to it."""

    seen: list[dict[str, str]] = field(default_factory=list)
    """The request headers of each call."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readexactly(len(PREFACE)) == PREFACE
        decoder, encoder = hpack.Decoder(), hpack.Encoder()
        writer.write(_frame(SETTINGS, 0, 0, b""))
        while True:
            head = await reader.readexactly(9)
            kind, flags, stream = head[3], head[4], int.from_bytes(head[5:])
            body = await reader.readexactly(int.from_bytes(head[:3]))
            if kind == HEADERS:
                self.seen.append({str(name): str(value) for name, value in decoder.decode(body)})
            elif kind in (SETTINGS, PING) and not flags & ACK:
                writer.write(_frame(kind, ACK, 0, body if kind == PING else b""))
            if kind in (HEADERS, DATA) and flags & END_STREAM:
                refusal = [
                    (":status", "200"),
                    ("content-type", "application/grpc"),
                    ("grpc-status", UNAUTHENTICATED),
                    ("grpc-message", "who are you"),
                ]
                writer.write(_frame(HEADERS, END_HEADERS | END_STREAM, stream, encoder.encode(refusal)))


def _frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return len(body).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + body
