"""How it reads, in one line, that a value does not have the form of a record.

What was sent is not repeated: it may be large, and it may be a secret.
"""

from pydantic import ValidationError

FAULTS_SHOWN = 5
PLACE_CHARS = 300
OURS = "Value error, "
"""What pydantic puts before the words of our own validators."""


def faults_of(error: ValidationError, whole: str = "value") -> str:
    """Each fault as `where: what`; `whole` stands for the record itself."""
    faults = error.errors(include_input=False, include_url=False, include_context=False)
    told = [f"{'.'.join(map(str, each['loc']))[:PLACE_CHARS] or whole}: {_said(each['msg'])}" for each in faults]
    more = [f"{len(told) - FAULTS_SHOWN} more"] if len(told) > FAULTS_SHOWN else []
    return "; ".join([*told[:FAULTS_SHOWN], *more])


def _said(message: str) -> str:
    return message.removeprefix(OURS)
