"""Who may call, by the settings: a token file, an OIDC issuer, or else whoever is at this machine.

In the last case the address must be one of this machine, so that nobody else reaches it.
"""

import ipaddress
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from activities.errors import DefinitionError
from activities.notices.decision_links import console_url
from surefoot.http.access import Access
from surefoot.http.oidc import Oidc, Terms
from surefoot.http.origins import LOOPBACK
from surefoot.http.sessions import Sessions
from surefoot.http.tokens import TokenFile
from surefoot.settings import SettingsError

SECRET = "SUREFOOT_SESSION_SECRET"
SECRET_CHARS = 32


def access_for(host: str, environment: Mapping[str, str] = os.environ) -> Access:
    """Who may call a server that listens on `host`. Raises `SettingsError`."""
    public = _public_url(environment)
    terms, file = Terms.from_environment(environment), environment.get("SUREFOOT_TOKENS")
    if terms is None and not file:
        if not is_loopback(host):
            raise SettingsError(
                f"{host} can be reached from other machines, and without SUREFOOT_TOKENS or SUREFOOT_OIDC_ISSUER nobody"
                " would be asked who he is: set one of them (`surefoot token NAME --role approve` makes a token), or"
                " listen on 127.0.0.1"
            )
        access = Access.open()
        # Not by the console's address: a proxy there would let everybody in as the person at this machine.
        access.hosts = _hosts(host, None)
        return access
    named = is_loopback(host) or public is not None
    return Access(
        Sessions(_secret(environment), secure=_secure(host, public)),
        tokens=TokenFile(Path(file)) if file else None,
        issuer=Oidc(terms) if terms else None,
        hosts=_hosts(host, public) if named else None,
        public_url=public,
    )


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reached from this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _public_url(environment: Mapping[str, str]) -> str | None:
    try:
        return console_url(environment)
    except DefinitionError as error:
        raise SettingsError(str(error)) from error


def _hosts(host: str, public: str | None) -> frozenset[str]:
    bracketed = f"[{host}]" if ":" in host and not host.startswith("[") else host
    names = {*LOOPBACK, bracketed.lower()}
    name = urlsplit(public).hostname if public else None
    return frozenset(names | ({f"[{name}]" if ":" in name else name} if name else set()))


def _secure(host: str, public: str | None) -> bool:
    return public.startswith("https:") if public is not None else not is_loopback(host)


def _secret(environment: Mapping[str, str]) -> bytes | None:
    secret = environment.get(SECRET, "")
    if secret and len(secret) < SECRET_CHARS:
        raise SettingsError(
            f"{SECRET} has {len(secret)} characters, and could be found by trying: at least {SECRET_CHARS} are needed,"
            " make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'"
        )
    return secret.encode() or None
