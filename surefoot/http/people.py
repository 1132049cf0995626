"""Who a request comes from, and what that person may do.

Some roles are permissions of this API. All others, such as "finance", are only handed on with decisions, where a tool's
policy may ask for them.
"""

from dataclasses import dataclass
from typing import Literal, get_args

Permission = Literal["view", "submit", "approve", "admin"]
PERMISSIONS: tuple[Permission, ...] = get_args(Permission)

GIVES: dict[str, frozenset[Permission]] = {
    "view": frozenset({"view"}),
    "submit": frozenset({"view", "submit"}),
    "approve": frozenset({"view", "approve"}),
    "admin": frozenset(PERMISSIONS),
}
"""What a role allows."""


@dataclass(frozen=True)
class Person:
    """Somebody who was authenticated. `name` enters history, `roles` are vouched for by whoever authenticated."""

    name: str
    roles: frozenset[str] = frozenset()

    def may(self, permission: Permission) -> bool:
        return any(permission in GIVES.get(role, frozenset()) for role in self.roles)

    @property
    def permissions(self) -> list[Permission]:
        return [permission for permission in PERMISSIONS if self.may(permission)]
