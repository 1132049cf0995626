"""Places to run `surefoot` in; their paths hold blanks and umlauts. No process outlives its test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Place, until


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A place of this test's own, in which nothing was started yet."""
    place = Place.at(tmp_path / "Töpfe und Krüge")
    try:
        yield place
    finally:
        place.close()


@pytest.fixture(scope="session")
def open_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A place whose server and worker are up, for all tests that need no fresh one."""
    place = Place.at(tmp_path_factory.mktemp("cli") / "Töpfe und Krüge", SUREFOOT_IDLE_SECONDS="600")
    try:
        place.start("worker")
        until(place.workers, seconds=60)
        yield place
    finally:
        place.close()


@pytest.fixture
def shop(open_shop: Place) -> Place:
    """The open shop, with the traces of earlier tests gone."""
    for name in ("done.log", "go", "lingers"):
        (open_shop.folder / name).unlink(missing_ok=True)
    return open_shop
