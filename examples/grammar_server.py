"""An MCP server with twenty irregular verbs, in which the grammar tutor looks its answers up; on stdin and stdout.

A tool that can't answer raises, which MCP tells as a result with `isError`: the model reads why.
"""

import json
from pathlib import Path
from typing import Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

VERBS: dict[str, list[str]] = json.loads((Path(__file__).parent / "data" / "verbs.json").read_text())
"""The plain form of each → third person singular, past, past participle."""

THIRD = ("he", "she", "it")
Tense = Literal["present", "past", "present_perfect", "past_perfect", "future"]
Person = Literal["I", "you", "he", "she", "it", "we", "they"]

server = MCPServer("grammar", log_level="WARNING")


@server.tool(structured_output=False)
def conjugate(verb: str, tense: Tense, person: Person) -> str:
    """The form of a verb with its person, such as "she has gone"; `verb` is the plain form."""
    if verb not in VERBS:
        raise ToolError(f"{verb!r} is not among the verbs, which are {', '.join(VERBS)}.")
    third, past, participle = VERBS[verb]
    match tense:
        case "present" if verb == "be":
            form = "am" if person == "I" else third if person in THIRD else "are"
        case "present":
            form = third if person in THIRD else verb
        case "past":
            form = "were" if verb == "be" and person in ("you", "we", "they") else past
        case "present_perfect":
            form = f"{'has' if person in THIRD else 'have'} {participle}"
        case "past_perfect":
            form = f"had {participle}"
        case "future":
            form = f"will {verb}"
    return f"{person} {form}"


@server.tool(structured_output=False)
def lookup_rule(word: str) -> str:
    """What form of which verb a word is, right or wrong, and where each form of that verb stands."""
    for verb, (third, past, participle) in VERBS.items():
        if names := _names(word.lower(), verb, third, past, participle):
            return (
                f"'{word}' is {' and '.join(names)} of '{verb}'. The past, '{past}', stands alone. After have, has or"
                f" had stands the past participle, '{participle}'. After do, does, did, will, must or to stands the"
                f" plain form, '{verb}'."
            )
    raise ToolError(f"{word!r} is no form of any of the verbs, which are {', '.join(VERBS)}.")


def _names(word: str, verb: str, third: str, past: str, participle: str) -> list[str]:
    """What the word is called among the forms of a verb; nothing if it is none of them."""
    forms = {"the plain form": [verb], "the present": [third], "the past": [past], "the past participle": [participle]}
    if verb == "be":
        forms["the present"] += ["am", "are"]
        forms["the past"] += ["were"]
    found = [name for name, spelled in forms.items() if word in spelled]
    return found or (["a wrong form"] if word in (f"{verb}ed", f"{verb}d", f"{past}ed") else [])


if __name__ == "__main__":
    server.run("stdio")
