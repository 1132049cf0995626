"""Sessions of browsers: a token is given once, and a cookie stands for it until it runs out or its owner leaves."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from surefoot.http.access import Access, needs
from surefoot.http.answers import Me
from surefoot.http.people import Person
from surefoot.http.problems import PROBLEMS
from surefoot.http.requests import SignIn

router = APIRouter(prefix="/session", tags=["session"], responses=PROBLEMS)


def access_of(request: Request) -> Access:
    access: Access = request.app.state.access
    return access


TheAccess = Annotated[Access, Depends(access_of)]


@router.post("")
async def sign_in(access: TheAccess, sent: SignIn, request: Request, response: Response) -> Me:
    """Open a session for whose token this is."""
    signed_in = await access.sign_in(request, sent.token, response)
    return _me(signed_in.person, signed_in.csrf)


@router.get("")
async def who_am_i(access: TheAccess, person: Annotated[Person, Depends(needs("view"))], request: Request) -> Me:
    """Who this request comes from."""
    return _me(person, access.csrf(request))


@router.delete("", status_code=204)
async def sign_out(
    access: TheAccess, _: Annotated[Person, Depends(needs("view"))], request: Request, response: Response
) -> None:
    """End the session."""
    access.sign_out(request, response)


def _me(person: Person, csrf: str = "") -> Me:
    return Me(name=person.name, roles=sorted(person.roles), permissions=person.permissions, csrf=csrf)
