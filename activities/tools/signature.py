"""Reads a function's parameters as a tool's, and refuses what no model could fill in.

Annotations may be strings (`from __future__ import annotations`): they are resolved in the function's module
and in the scope where the tool is defined, one parameter at a time so that an error can name it.
"""

import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from activities.errors import DefinitionError
from activities.tools.context import ToolContext

REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Parameter:
    """One argument that the model fills in; `default` is `REQUIRED` if there is none."""

    name: str
    annotation: Any
    default: Any


@dataclass(frozen=True)
class Signature:
    """The arguments of a tool, and the names of its parameters that receive the `ToolContext`."""

    parameters: tuple[Parameter, ...]
    context: tuple[str, ...]


def read_signature(tool: str, function: Callable[..., Any], local_names: Mapping[str, Any]) -> Signature:
    """The parameters of a tool's function; raises `DefinitionError` for what can't be a tool's."""
    plain = underlying(function)
    scope = {**getattr(plain, "__globals__", {}), **_closure(plain), **local_names}
    parameters: list[Parameter] = []
    context: list[str] = []
    for parameter in _open_parameters(tool, function):
        _refuse_shape(tool, parameter)
        annotation = _resolve(tool, parameter, scope)
        if is_context(annotation):
            context.append(parameter.name)
        else:
            parameters.append(Parameter(parameter.name, annotation, parameter.default))
    return Signature(tuple(parameters), tuple(context))


def is_context(annotation: Any) -> bool:
    """Whether a parameter annotated so wants the `ToolContext`; it may be Optional or Annotated."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return is_context(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        members = [member for member in get_args(annotation) if member is not types.NoneType]
        return len(members) == 1 and is_context(members[0])
    return isinstance(annotation, type) and issubclass(annotation, ToolContext)


def underlying(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function whose code is run: behind partials, decorators that say what they wrap, and callable objects."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    if inspect.isroutine(function) or isinstance(function, type):
        return function
    return type(function).__call__


def _open_parameters(tool: str, function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise DefinitionError(f"tool {tool!r}: {error}. Wrap it in a function with annotated parameters.") from error
    # What a partial binds by name is settled, and may be a secret: the model must neither see nor replace it.
    bound = function.keywords if isinstance(function, functools.partial) else {}
    return [parameter for parameter in parameters if parameter.name not in bound]


def _closure(function: Callable[..., Any]) -> Mapping[str, Any]:
    try:
        return inspect.getclosurevars(function).nonlocals
    except (TypeError, ValueError):  # not a Python function, or a name of it that is not bound yet
        return {}


def _refuse_shape(tool: str, parameter: inspect.Parameter) -> None:
    where = f"tool {tool!r}: parameter {parameter.name!r}"
    if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        stars = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else "**"
        kind = "list" if stars == "*" else "dict"
        raise DefinitionError(
            f"tool {tool!r}: parameter '{stars}{parameter.name}' stands for any number of arguments, which a model"
            f" can't be told about. Write one parameter for each, or one annotated as a {kind}."
        )
    if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
        raise DefinitionError(f"{where} is positional-only, but models give arguments by name. Remove the '/'.")
    if parameter.annotation is inspect.Parameter.empty:
        if parameter.name in ("self", "cls"):
            raise DefinitionError(
                f"{where}: a method can't be decorated inside its class, since nothing binds it there."
                f" Decorate the bound method instead: tool(instance.{tool})."
            )
        raise DefinitionError(f"{where} has no annotation. Write its type, e.g. `{parameter.name}: str`.")
    if isinstance(parameter.default, FieldInfo):
        raise DefinitionError(
            f"{where} has a Field(…) as its default value, which a direct call of the function would receive."
            f" Write `{parameter.name}: Annotated[<type>, Field(…)] = <default>`."
        )


def _resolve(tool: str, parameter: inspect.Parameter, scope: dict[str, Any]) -> Any:
    holder = types.SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    try:
        return typing.get_type_hints(holder, globalns=scope, include_extras=True)[parameter.name]
    except NameError as error:
        raise DefinitionError(
            f"tool {tool!r}: parameter {parameter.name!r} is annotated {parameter.annotation!r}, but the name"
            f" {error.name!r} is not known where the tool is defined. Import or define it before the tool,"
            " and not only under `if TYPE_CHECKING:`."
        ) from error
    except Exception as error:  # an annotation is evaluated, and may fail in any way
        raise DefinitionError(
            f"tool {tool!r}: parameter {parameter.name!r} is annotated {parameter.annotation!r}, which can't be"
            f" evaluated ({type(error).__name__}: {error}). Write a type there."
        ) from error
