"""Says who a request comes from, and refuses those that may not do what they ask for.

A bearer token is looked up in the token file or checked by OIDC, a cookie is a session that was opened with one of the
two. Every method that may change something and comes with a cookie needs the session's CSRF token as well.
"""

from dataclasses import dataclass, field, replace
from typing import Annotated, Protocol

from fastapi import Request, Response, Security
from fastapi.security import HTTPBearer

from surefoot.account import me, my_roles
from surefoot.http.bodies import FORMS
from surefoot.http.origins import LOOPBACK, SAFE, foreign
from surefoot.http.people import PERMISSIONS, Permission, Person
from surefoot.http.problems import Refusal
from surefoot.http.rates import Failures
from surefoot.http.sessions import SECONDS, Session, Sessions
from surefoot.http.tokens import TokenFile

CSRF_HEADER = "X-CSRF-Token"
CSRF_FIELD = "csrf_token"

bearer = HTTPBearer(auto_error=False, description="A token of the token file, or one of the OIDC issuer.")


@dataclass(frozen=True)
class Vouched:
    """A person that an issuer vouches for, until when (seconds since the epoch)."""

    person: Person
    until: float


@dataclass(frozen=True)
class SignedIn:
    """A person whose session was opened, and what its forms must carry."""

    person: Person
    csrf: str


class Issuer(Protocol):
    """Somebody else who says who a token belongs to."""

    async def check(self, token: str) -> Vouched | None:
        """Whose token this is; None if it is not valid. Raises `Refusal` if that can't be found out now."""
        ...


@dataclass
class Access:
    """Who may call. `everybody` is who all requests come from where nobody has to say who he is.

    `hosts` are the names that requests may call this server by (None: any), `public_url` is how people reach it.
    """

    sessions: Sessions
    tokens: TokenFile | None = None
    issuer: Issuer | None = None
    everybody: Person | None = None
    hosts: frozenset[str] | None = None
    public_url: str | None = None
    failures: Failures = field(default_factory=Failures)

    @classmethod
    def open(cls, name: str | None = None, roles: list[str] | None = None) -> "Access":
        """Everybody is the account that this runs under, with all permissions. For a loopback address only."""
        given = my_roles() if roles is None else roles
        everybody = Person(name or me(), frozenset([*PERMISSIONS, *given]))
        return cls(Sessions(secure=False), everybody=everybody, hosts=frozenset(LOOPBACK))

    @property
    def is_open(self) -> bool:
        return self.everybody is not None

    async def person(self, request: Request) -> Person:
        """Who this request comes from. Raises `Refusal`."""
        if self.everybody is not None:
            self._must_be_ours(request)
            return self.everybody
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme:
            return (await self._bearer(request, scheme, token.strip())).person
        session = self.session(request)
        if session is None:
            raise _unknown("say who you are: a bearer token in the Authorization header, or a session of a browser")
        self._must_be_ours(request)
        if request.method not in SAFE and not self.sessions.is_csrf(session, await _csrf_of(request)):
            raise Refusal(
                403, "no-csrf-token", f"the CSRF token of this session is missing in {CSRF_HEADER}, or is another's"
            )
        return session.person

    def session(self, request: Request) -> Session | None:
        """The browser's session, with the rights that its person has now."""
        session = self.sessions.read(request.cookies.get(self.sessions.cookie, ""))
        if session is None or session.key is None:
            return session if self.issuer else None  # an issuer that is not believed any more vouches for nobody
        known = self.tokens.by_key(session.key) if self.tokens else None
        return replace(session, person=known.person) if known else None

    def csrf(self, request: Request) -> str:
        """What forms and scripts of a page must send back; empty where there are no sessions."""
        session = None if self.is_open else self.session(request)
        return self.sessions.csrf(session) if session else ""

    async def sign_in(self, request: Request, token: str, response: Response) -> SignedIn:
        """Open a session for whose token this is, with its cookie on `response`. Raises `Refusal`, alike for all."""
        self._must_be_ours(request)
        if self.everybody is not None:
            return SignedIn(self.everybody, "")
        wait = self.failures.wait(_address(request))
        if wait > 0:
            raise _too_many(wait)
        found = await self._bearer(request, "bearer", token)
        known = self.tokens.find(token) if self.tokens else None
        cookie, session = self.sessions.open(found.person, key=known.key if known else None, until=found.until)
        response.set_cookie(
            self.sessions.cookie, cookie, SECONDS, secure=self.sessions.secure, httponly=True, samesite="strict"
        )
        return SignedIn(found.person, self.sessions.csrf(session))

    def sign_out(self, request: Request, response: Response) -> None:
        """End the browser's session."""
        if session := self.sessions.read(request.cookies.get(self.sessions.cookie, "")):
            self.sessions.end(session)
        response.delete_cookie(self.sessions.cookie, secure=self.sessions.secure, httponly=True, samesite="strict")

    async def _bearer(self, request: Request, scheme: str, token: str) -> Vouched:
        found: Vouched | None = None
        if scheme.lower() == "bearer":
            if self.tokens and (known := self.tokens.find(token)):
                return Vouched(known.person, float("inf"))
            if self.issuer:
                found = await self.issuer.check(token)
        if found is None:
            # Only who fails is held up: a neighbour behind the same address must not be able to shut others out.
            wait = self.failures.wait(_address(request))
            self.failures.count(_address(request))
            raise _too_many(wait) if wait > 0 else _unknown("nobody has this token, or it is no longer valid")
        return found

    def _must_be_ours(self, request: Request) -> None:
        if why := foreign(request, self.public_url):
            raise Refusal(403, "foreign-page", f"refused, since {why}")


def _unknown(why: str) -> Refusal:
    return Refusal(401, "not-signed-in", why, {"WWW-Authenticate": "Bearer"})


def _too_many(wait: float) -> Refusal:
    return Refusal(429, "too-many-failures", "too many tokens that nobody has", {"Retry-After": str(int(wait) + 1)})


def _address(request: Request) -> str:
    return request.client.host if request.client else "unknown"


async def _csrf_of(request: Request) -> str:
    sent = request.headers.get(CSRF_HEADER)
    if sent is None and request.headers.get("content-type", "").partition(";")[0].strip().lower() in FORMS:
        value = (await request.form()).get(CSRF_FIELD)
        sent = value if isinstance(value, str) else None
    return sent or ""


class Needs:
    """A dependency: the person, who must have this permission."""

    def __init__(self, permission: Permission) -> None:
        self.permission = permission

    async def __call__(self, request: Request, _: Annotated[object, Security(bearer)] = None) -> Person:
        access: Access = request.app.state.access
        person = await access.person(request)
        if not person.may(self.permission):
            has = ", ".join(person.permissions) or "none"
            raise Refusal(403, "forbidden", f"this needs the permission {self.permission!r}; {person.name} has: {has}")
        request.state.person = person
        return person


def needs(permission: Permission) -> Needs:
    """For `Annotated[Person, Depends(needs("approve"))]`: the person behind a request, or a problem 401 or 403."""
    return Needs(permission)
