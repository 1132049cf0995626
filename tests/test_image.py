"""The worker's image: what the Dockerfile takes and how it runs, as far as it can be known without building it."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def copied() -> set[str]:
    """What the Dockerfile takes from the repository."""
    lines = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
    return {source for line in lines for source in line.split()[:-1]}


def test_the_image_is_made_of_what_the_package_consists_of() -> None:
    setuptools = PYPROJECT["tool"]["setuptools"]
    packages = {pattern.rstrip("*") for pattern in setuptools["packages"]["find"]["include"]}
    modules = {f"{name}.py" for name in setuptools["py-modules"]}
    project = PYPROJECT["project"]

    assert copied() == {
        "pyproject.toml",
        ".ci/constraints.txt",
        project["readme"],
        *project["license-files"],
        *packages,
        *modules,
    }
    assert [name for name in copied() if not (ROOT / name).exists()] == []


def test_the_build_is_given_what_it_copies_and_nothing_else() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()

    assert "*" in lines
    assert {line[1:] for line in lines if line.startswith("!")} == copied()


def test_what_the_image_copies_runs_without_the_rest_of_the_repository(tmp_path: Path) -> None:
    tree, elsewhere = tmp_path / "site-packages", tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in copied():
        source, target = ROOT / name, tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    code = "import worker, surefoot.polling as p; worker.check_imports(); print(worker.__file__, p.__file__)"

    run = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=elsewhere,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
    )

    assert run.stdout.split() == [str(tree / "worker.py"), str(tree / "surefoot" / "polling.py")], run.stderr


def test_both_stages_are_of_one_python_that_the_package_supports() -> None:
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)

    assert bases == ["python:3.13-slim"] * 2


def test_versions_in_the_image_are_those_that_were_tested() -> None:
    assert "--constraint constraints.txt" in DOCKERFILE


def test_the_worker_does_not_run_as_root() -> None:
    last_stage = DOCKERFILE[DOCKERFILE.rindex("\nFROM ") :]
    users = re.findall(r"^USER (\S+)", last_stage, re.MULTILINE)

    assert users == ["10001:10001"]
