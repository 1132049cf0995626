"""Makes reports of tests fit for the wire between pytest's processes, which carries UTF-8 and nothing else.

A test that printed or compared half a surrogate pair would otherwise end the whole run as an internal error (3).
"""


def printable(value: object) -> object:
    """The same report data, with what UTF-8 can't hold spelled out."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {printable(key): printable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(printable(each) for each in value)
    return value
