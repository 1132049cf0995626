"""Who sits at this machine: the account's name, and the roles that the environment gives it.

Both guard against mistakes only: whoever reaches the Temporal server itself could send any name and any role.
"""

import getpass
import os


def me() -> str:
    """The name of this account."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "terminal"


def my_roles() -> list[str]:
    """The roles that this account decides with (`SUREFOOT_ROLES=finance,owner`)."""
    return [role for role in (each.strip() for each in os.environ.get("SUREFOOT_ROLES", "").split(",")) if role]
