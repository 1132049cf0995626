"""Parts a docstring into what it says of the function and what it says of each parameter.

Google, NumPy and Sphinx layouts, recognised by their headings and mixed at will. Only the lines about
parameters are taken out: everything else stays, word for word, since it is what the model reads. A parser
that gives up on a section it does not know would silently leave the model without descriptions.
"""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_GOOGLE_HEADING = re.compile(
    r"(args|arguments|parameters|params|keyword args|keyword arguments|other parameters):\s*$", re.I
)
_NUMPY_HEADING = re.compile(r"(parameters|other parameters|keyword arguments|arguments)\s*$", re.I)
_UNDERLINE = re.compile(r"-{3,}\s*$")
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(?P<names>\w+)\s*(?:\([^:]*?\)|\(.*?\))?\s*:(?:\s+|$)(?P<text>.*)")
_NUMPY_ENTRY = re.compile(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_SPHINX_PARAMETER = re.compile(
    r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(?P<names>\w+)\s*:\s*(?P<text>.*)"
)
_SPHINX_TYPE = re.compile(r":type\s+\w+\s*:")


@dataclass
class Docstring:
    """`description` is the text without its parameter sections; `parameters` maps names to descriptions."""

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def parse(text: str | None) -> Docstring:
    """Part a docstring. Never fails: what is not recognised stays in the description."""
    if not text:
        return Docstring()
    lines = _clean(text)
    kept: list[str] = []
    found: dict[str, list[str]] = {}
    position = 0
    while position < len(lines):
        end = _section(lines, position, found)
        if end == position:
            kept.append(lines[position])
            end += 1
        position = end
    description = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    described = {name: _paragraph(texts) for name, texts in found.items()}
    return Docstring(description, {name: text for name, text in described.items() if text})


def _clean(text: str) -> list[str]:
    # cleandoc strips the first line apart from the rest, which would put "Args:" on a level with its own
    # entries when it stands first: an empty line before it keeps the levels.
    return inspect.cleandoc("\n" + text if _GOOGLE_HEADING.match(text.split("\n", 1)[0].strip()) else text).split("\n")


def _section(lines: list[str], start: int, found: dict[str, list[str]]) -> int:
    """Take the parameter section that begins at `start`, if one does; return the line after it."""
    line = lines[start]
    if _GOOGLE_HEADING.match(line.strip()):
        end = _block_end(lines, start + 1, _indent(line))
        return end if _entries(lines[start + 1 : end], _GOOGLE_ENTRY, found) else start
    if _NUMPY_HEADING.match(line.strip()) and start + 1 < len(lines) and _UNDERLINE.match(lines[start + 1].strip()):
        end = _numpy_end(lines, start + 2)
        return end if _entries(lines[start + 2 : end], _NUMPY_ENTRY, found) else start
    if match := _SPHINX_PARAMETER.match(line.strip()):
        end = _block_end(lines, start + 1, _indent(line))
        found[match["names"]] = [match["text"], *lines[start + 1 : end]]
        return end
    if _SPHINX_TYPE.match(line.strip()):
        return _block_end(lines, start + 1, _indent(line))
    return start


def _block_end(lines: list[str], start: int, indent: int) -> int:
    """The first line from `start` that is not blank and not indented deeper than `indent`."""
    for position in range(start, len(lines)):
        if lines[position].strip() and _indent(lines[position]) <= indent:
            return position
    return len(lines)


def _numpy_end(lines: list[str], start: int) -> int:
    """NumPy entries stand at the heading's own indent: the section ends at the next underlined heading."""
    for position in range(start, len(lines) - 1):
        if lines[position].strip() and _UNDERLINE.match(lines[position + 1].strip()):
            return position
    return len(lines)


def _entries(lines: list[str], pattern: re.Pattern[str], found: dict[str, list[str]]) -> bool:
    """Add the described names of one section; False if it has none and is no parameter section after all."""
    named = dict(_split_entries(lines, pattern))
    found.update(named)
    return bool(named)


def _split_entries(lines: list[str], pattern: re.Pattern[str]) -> Iterator[tuple[str, list[str]]]:
    indents = [_indent(line) for line in lines if line.strip()]
    texts: list[str] = []
    for line in lines:
        match = pattern.match(line.strip()) if line.strip() and _indent(line) == min(indents) else None
        if match:
            texts = [match.groupdict().get("text") or ""]
            for name in match["names"].split(","):
                yield name.strip().lstrip("*"), texts
        else:
            texts.append(line)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _paragraph(texts: list[str]) -> str:
    return " ".join(line.strip() for line in texts if line.strip())
