"""Loading an app file: its agents, its neighbours, and what is told when it can't be used."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.agents import Agent
from activities.apps import App, load_app
from activities.errors import DefinitionError, UnknownAgent

HEAD = "from activities.agents import Agent\nfrom activities.tools.tool import tool\n"


@pytest.fixture(autouse=True)
def same_imports_after_each_test() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def write(folder: Path, code: str, name: str = "app.py") -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    (folder / name).write_text(HEAD + code)
    return folder / name


def test_an_app_has_the_agents_of_its_file_alone_or_in_collections(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "one = Agent('one', 'scripted:a.json')\n"
        "more = [Agent('two', 'scripted:a.json'), one, 'text', 5]\n"
        "named = {'x': Agent('three', 'scripted:a.json')}\n",
    )
    app = load_app(file)

    assert list(app.agents) == ["one", "two", "three"]
    assert app.agent("two").name == "two"
    assert app.folder == tmp_path


def test_an_app_imports_its_neighbours(tmp_path: Path) -> None:
    write(tmp_path, "helper = Agent('helper', 'scripted:a.json')\n", "surefoot_test_neighbour.py")
    file = write(tmp_path, "from surefoot_test_neighbour import helper\n")

    assert list(load_app(file).agents) == ["helper"]


def test_two_files_of_one_name_do_not_clash(tmp_path: Path) -> None:
    first = load_app(write(tmp_path / "a", "agent = Agent('first', 'scripted:a.json')\n"))
    second = load_app(write(tmp_path / "b", "agent = Agent('second', 'scripted:a.json')\n"))

    assert [list(first.agents), list(second.agents)] == [["first"], ["second"]]
    modules = [name for name in sys.modules if name.startswith("surefoot_app_")]
    assert len(modules) == 2


def test_a_file_may_have_any_name(tmp_path: Path) -> None:
    file = write(tmp_path, "agent = Agent('a', 'scripted:a.json')\n", "my-app v1.0.py")

    assert list(load_app(file).agents) == ["a"]


def test_a_main_block_does_not_run(tmp_path: Path) -> None:
    file = write(
        tmp_path, "agent = Agent('a', 'scripted:a.json')\nif __name__ == '__main__':\n    raise SystemExit(1)\n"
    )

    assert list(load_app(str(file)).agents) == ["a"]


def test_a_relative_path_is_meant_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "agent = Agent('a', 'scripted:a.json')\n")
    monkeypatch.chdir(tmp_path)

    assert load_app("app.py").folder == tmp_path


def test_types_of_the_app_file_serve_postponed_annotations(tmp_path: Path) -> None:
    file = tmp_path / "app.py"
    file.write_text(
        "from __future__ import annotations\n"
        + HEAD
        + "from dataclasses import dataclass\n"
        + "@dataclass\nclass Item:\n    n: int\n"
        + "@tool\ndef take(item: Item) -> int:\n    return item.n\n"
        + "agent = Agent('a', 'scripted:a.json', tools=[take])\n"
    )
    take = load_app(file).agent("a").tool("take")

    assert take is not None
    assert take(**take.validate({"item": {"n": 3}})) == 3


def test_loading_again_runs_the_file_again(tmp_path: Path) -> None:
    load_app(write(tmp_path, "agent = Agent('old', 'scripted:a.json')\n"))
    app = load_app(write(tmp_path, "agent = Agent('newer', 'scripted:a.json')\n"))

    assert list(app.agents) == ["newer"]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("x = 1\n", "defines no agent. Write one at the top level"),
        (
            "a = Agent('same', 'scripted:a.json')\nb = Agent('same', 'scripted:b.json')\n",
            "two agents have the name 'same' (a and b)",
        ),
        (
            "a = Agent('same', 'scripted:a.json')\nb = [Agent('same', 'scripted:b.json')]\n",
            "two agents have the name 'same' (a and b)",
        ),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
    ],
)
def test_a_file_without_usable_agents_is_refused(tmp_path: Path, code: str, text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        load_app(write(tmp_path, code))
    assert text in str(caught.value)


def test_an_error_shows_the_user_s_own_lines_and_no_others(tmp_path: Path) -> None:
    write(tmp_path, "def broken():\n    return 1 / 0\n", "surefoot_test_broken.py")
    file = write(tmp_path, "import surefoot_test_broken\nx = surefoot_test_broken.broken()\n")

    with pytest.raises(DefinitionError) as caught:
        load_app(file)

    lines = str(caught.value).splitlines()
    places = [line.strip() for line in lines if line.strip().startswith("File ")]
    assert lines[0] == f"{file} can't be loaded:"
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert places == [
        f'File "{file}", line 4, in <module>',
        f'File "{tmp_path / "surefoot_test_broken.py"}", line 4, in broken',
    ]


def test_a_syntax_error_shows_its_line(tmp_path: Path) -> None:
    file = write(tmp_path, "def broken(:\n    pass\n")

    with pytest.raises(DefinitionError) as caught:
        load_app(file)

    assert f'File "{file}", line 3' in str(caught.value)
    assert "def broken(:" in str(caught.value)
    assert "SyntaxError: " in str(caught.value)


def test_a_missing_module_is_named(tmp_path: Path) -> None:
    file = write(tmp_path, "import surefoot_test_missing\n")

    with pytest.raises(DefinitionError, match="No module named 'surefoot_test_missing'"):
        load_app(file)


def test_a_tool_that_is_refused_shows_where_it_stands(tmp_path: Path) -> None:
    file = write(tmp_path, "@tool\ndef bad(x) -> str:\n    return x\n")

    with pytest.raises(DefinitionError) as caught:
        load_app(file)

    assert f'File "{file}", line 3, in <module>' in str(caught.value)
    assert "signature.py" not in str(caught.value)
    assert "tool 'bad': parameter 'x' has no annotation" in str(caught.value)


def test_a_file_that_failed_is_not_left_half_imported(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError):
        load_app(write(tmp_path, "raise ValueError\n"))

    assert [name for name in sys.modules if name.startswith("surefoot_app_")] == []


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"There is no file .*nothing\.py\. Give"):
        load_app(tmp_path / "nothing.py")  # absolute: not named twice
    with pytest.raises(DefinitionError, match=r"is a folder\. Give the Python file"):
        load_app(tmp_path)


def test_a_file_that_would_hide_surefoot_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"surefoot\.py has the name of a package of Surefoot"):
        load_app(write(tmp_path, "agent = Agent('a', 'scripted:a.json')\n", "surefoot.py"))


def test_an_unknown_agent_is_told_with_those_that_exist() -> None:
    app = App([Agent("billing", "scripted:a.json"), Agent("search", "scripted:a.json")])

    with pytest.raises(
        UnknownAgent, match=r"no agent 'biling'\. Did you mean 'billing'\? The app has: billing, search\."
    ):
        app.agent("biling")
    with pytest.raises(UnknownAgent, match=r"no agent 'zzz'\. The app has: billing, search\."):
        app.agent("zzz")


def test_two_agents_of_one_name_are_no_app() -> None:
    with pytest.raises(DefinitionError, match="Two agents have the name 'a'"):
        App([Agent("a", "scripted:a.json"), Agent("a", "scripted:b.json")])
