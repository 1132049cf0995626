"""How values are written to event history: JSON by pydantic without unset fields, compressed, and encrypted with a key.

Client and worker must agree on this; a key, once used, must stay in the list for as long as histories written with it
are read. Format: metadata `encoding` is `binary/surefoot-zstd` or `binary/surefoot-aesgcm`; the data holds the whole
original payload.
"""

import base64
import binascii
import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

import zstandard
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from google.protobuf.message import DecodeError
from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue
from temporalio.contrib.pydantic import PydanticPayloadConverter, ToJsonOptions
from temporalio.converter import (
    DataConverter,
    DefaultFailureConverter,
    DefaultFailureConverterWithEncodedAttributes,
    PayloadCodec,
)

ZSTD = b"binary/surefoot-zstd"
AES = b"binary/surefoot-aesgcm"
KEYS = "SUREFOOT_ENCRYPTION_KEYS"
WORTH_COMPRESSING = 600
"""From how many bytes on it is done. An answer to a decision has fewer, so that Temporal's own tools can show it."""

LARGEST = 64 * 1024 * 1024
"""Most bytes of one payload when it is unpacked; no payload of ours comes near it."""

NONCE_BYTES = 12


class BadKeys(ValueError):
    """The encryption keys in the environment can't be used."""


class UnreadablePayload(ValueError):
    """A payload in history can't be decoded with what this process has."""


class Converter(PydanticPayloadConverter):
    """JSON by pydantic; what was not set is not written, and read as its default.

    The SDK makes a converter for each workflow and two more for each of its tasks. All share the parts that do the
    work, and so what pydantic compiled for each type.
    """

    _shared = PydanticPayloadConverter(ToJsonOptions(exclude_unset=True)).converters

    def __init__(self) -> None:
        self.converters = self._shared

    def from_payloads(self, payloads: Sequence[Payload], type_hints: list[type] | None = None) -> list[Any]:
        """What nobody declared a type for and can't be read stays as it came, for its receiver to refuse."""
        if type_hints:
            return super().from_payloads(payloads, type_hints)
        return [self._if_readable(payload) for payload in payloads]

    def _if_readable(self, payload: Payload) -> Any:
        try:
            return super().from_payloads([payload])[0]
        except (ValueError, KeyError, RuntimeError, TypeError):
            return RawValue(payload)


class Codec(PayloadCodec):
    """Compresses what is worth it, then encrypts everything with the first of `keys` (id → 16 or 32 bytes), if any."""

    def __init__(self, keys: Mapping[str, bytes] | None = None) -> None:
        self._keys = {name: AESGCM(key) for name, key in (keys or {}).items()}
        self._current = next(iter(self._keys), None)
        self._compressor = zstandard.ZstdCompressor(level=3)
        self._decompressor = zstandard.ZstdDecompressor()

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [self._encrypt(self._compress(payload)) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [self._decode(payload) for payload in payloads]

    def _compress(self, payload: Payload) -> Payload:
        if len(payload.data) < WORTH_COMPRESSING:
            return payload
        packed = self._compressor.compress(payload.SerializeToString())
        if len(packed) >= len(payload.data):
            return payload
        return Payload(metadata={"encoding": ZSTD}, data=packed)

    def _encrypt(self, payload: Payload) -> Payload:
        if self._current is None:
            return payload
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._keys[self._current].encrypt(nonce, payload.SerializeToString(), self._current.encode())
        return Payload(metadata={"encoding": AES, "key": self._current.encode()}, data=nonce + sealed)

    def _decode(self, payload: Payload) -> Payload:
        encoding = payload.metadata.get("encoding")
        if encoding == AES:
            return self._decode(self._decrypt(payload))
        if encoding == ZSTD:
            return self._decompress(payload)
        return payload

    def _decompress(self, payload: Payload) -> Payload:
        """Garbage stays as it came: no setting makes it readable, and raising here would fail a task for ever."""
        try:
            # What the frame says of its size goes before `max_output_size`; a bomb may say anything.
            if zstandard.frame_content_size(payload.data) > LARGEST:
                return payload
            return Payload.FromString(self._decompressor.decompress(payload.data, max_output_size=LARGEST))
        except (zstandard.ZstdError, DecodeError):
            return payload

    def _decrypt(self, payload: Payload) -> Payload:
        name = payload.metadata.get("key", b"").decode(errors="replace")
        if name not in self._keys:
            known = ", ".join(self._keys) or "none"
            raise UnreadablePayload(
                f"history is encrypted with key {name!r}, this process has: {known}; add that key to {KEYS}"
            )
        nonce, sealed = payload.data[:NONCE_BYTES], payload.data[NONCE_BYTES:]
        try:
            return Payload.FromString(self._keys[name].decrypt(nonce, sealed, name.encode()))
        except (InvalidTag, ValueError, DecodeError):
            raise UnreadablePayload(
                f"history encrypted with key {name!r} does not open with the key of that name in {KEYS}:"
                " the key was changed under its old name, or the data was altered"
            ) from None


def keys_from(text: str) -> dict[str, bytes]:
    """Keys written as `id:base64,id:base64`; the first one encrypts, all of them decrypt."""
    keys: dict[str, bytes] = {}
    for position, part in enumerate(filter(None, text.split(",")), start=1):
        name, colon, value = part.strip().partition(":")
        try:
            key = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if not colon or not name or len(key) not in (16, 32):
            raise BadKeys(
                f"{KEYS}: entry {position} is not ID:KEY with KEY 16 or 32 bytes in base64"
                " (make one with: python -c 'import base64,os;print(base64.b64encode(os.urandom(32)).decode())')"
            )
        if name in keys:
            raise BadKeys(f"{KEYS}: entry {position} has the id {name!r} of an earlier one; a new key needs a new id")
        keys[name] = key
    return keys


def data_converter(environment: Mapping[str, str] = os.environ) -> DataConverter:
    """What every client and worker of Surefoot uses."""
    keys = keys_from(environment.get(KEYS, ""))
    return dataclasses.replace(
        DataConverter.default,
        payload_converter_class=Converter,
        payload_codec=Codec(keys),
        # Error texts quote what failed, and the codec sees them only if they are made payloads.
        failure_converter_class=DefaultFailureConverterWithEncodedAttributes if keys else DefaultFailureConverter,
    )
