"""The token file: who may call, known by the SHA-256 of a token that stands nowhere.

The file is read again when it changed, so that taking a line out shuts its owner out at once, sessions included.
"""

import hashlib
import hmac
import json
import logging
import secrets
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from surefoot.http.people import Person
from surefoot.settings import SettingsError

log = logging.getLogger(__name__)

PREFIX = "sf_"
"""So that a token is known for one, by people and by scanners for leaked secrets."""

NAMES = r"^[^\x00-\x1f\x7f]{1,200}$"

EMPTY = [hashlib.sha256(text).digest() for text in (b"", b"\n", b" ")]
"""What a shell makes of a variable that is not set."""


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=NAMES)
    roles: list[str]
    sha256: str = Field(pattern=r"^[0-9a-fA-F]{64}$")


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    token: list[_Line]


@dataclass(frozen=True)
class Known:
    """A line of the file. `key` names it in sessions, and is of no use to anybody else."""

    person: Person
    digest: bytes

    @property
    def key(self) -> str:
        return hashlib.sha256(b"session:" + self.digest).hexdigest()[:32]


class TokenFile:
    """The people of a token file (TOML or JSON). Raises `SettingsError` if it can't be used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp = _stamp(path)
        self._known = read(path)
        self._told = ""
        if path.stat().st_mode & stat.S_IWOTH:
            log.warning("everybody on this machine can write to the token file %r, and so let himself in", str(path))

    def find(self, token: str) -> Known | None:
        """Whose token this is. Takes equally long whichever line it is, or none."""
        digest, found = hashlib.sha256(token.encode(errors="replace")).digest(), None
        for known in self._current():
            if hmac.compare_digest(known.digest, digest):
                found = known
        return found

    def by_key(self, key: str) -> Known | None:
        """The line that a session was opened with, if it still stands."""
        return next((known for known in self._current() if known.key == key), None)

    def _current(self) -> list[Known]:
        try:
            stamp = _stamp(self.path)
            if stamp != self._stamp:
                self._known, self._stamp, self._told = read(self.path), stamp, ""
        except SettingsError as error:
            # Half-written, most likely. Shutting everybody out would also shut out whoever can mend it.
            if str(error) != self._told:
                log.error("the tokens read before go on: %s", error)
                self._told = str(error)  # once: anybody can make requests
        return self._known


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        seen = path.stat()
    except OSError as error:
        raise SettingsError(f"the token file {str(path)!r} can't be read: {error.strerror}") from error
    return seen.st_mtime_ns, seen.st_size, seen.st_ino


def read(path: Path) -> list[Known]:
    """The lines of a token file. Raises `SettingsError`."""
    try:
        return parse(path.read_text(encoding="utf-8"), json_=path.suffix == ".json")
    except OSError as error:
        raise SettingsError(f"the token file {str(path)!r} can't be read: {error.strerror}") from error
    except (ValueError, SettingsError) as error:
        raise SettingsError(f"the token file {str(path)!r} is not valid: {error}") from error


def parse(text: str, *, json_: bool = False) -> list[Known]:
    """The lines in a text. Raises `SettingsError`."""
    try:
        file = _File.model_validate(json.loads(text) if json_ else tomllib.loads(text))
    except ValueError as error:
        raise SettingsError(_short(error)) from error
    known = [Known(Person(line.name, frozenset(line.roles)), bytes.fromhex(line.sha256)) for line in file.token]
    _check_digests(known)
    return known


def _check_digests(known: list[Known]) -> None:
    """Raises `SettingsError` for a token that everybody has, and for one that two people have."""
    owners: dict[bytes, str] = {}
    for position, each in enumerate(known):
        if each.digest in EMPTY:
            raise SettingsError(
                f"token.{position}.sha256: this is the digest of nothing; `surefoot token` makes a token"
            )
        if each.digest in owners:
            both = f"{owners[each.digest]!r} and {each.person.name!r}"
            raise SettingsError(f"token.{position}.sha256: {both} have the same token, so one person could act as two")
        owners[each.digest] = each.person.name


def _short(error: Exception) -> str:
    """Where and what, without the values: somebody may have put a token where its digest belongs."""
    if isinstance(error, ValidationError):
        found = error.errors(include_input=False, include_url=False)
        return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found)
    return str(error)


def fresh() -> str:
    """A new token: 256 bits of chance."""
    return PREFIX + secrets.token_urlsafe(32)


def line(name: str, roles: list[str], token: str) -> str:
    """What stands in the file for a token, as TOML."""
    digest = hashlib.sha256(token.encode()).hexdigest()
    # JSON's strings are TOML's basic strings, as long as no character beyond the basic plane is escaped.
    return (
        f"[[token]]\nname = {json.dumps(name, ensure_ascii=False)}\n"
        f"roles = {json.dumps(roles, ensure_ascii=False)}\nsha256 = {json.dumps(digest)}\n"
    )
