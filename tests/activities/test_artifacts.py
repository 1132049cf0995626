"""Whole outputs: kept under their job and call, read back as they were, and nothing outside of the folder is."""

from pathlib import Path

import pytest

from activities.artifacts import ArtifactMissing, Artifacts
from workflows.contracts import Artifact


def test_a_whole_output_is_read_back_as_it_was(tmp_path: Path) -> None:
    text = "ü\r\nline\n\0😀" * 1000
    artifact = Artifacts(tmp_path).keep("job-1", "c1-1", text)

    assert artifact == Artifact(location="job-1/c1-1.txt", chars=10_000)
    assert Artifacts(tmp_path).read(artifact) == text


def test_an_attempt_that_writes_again_replaces_what_was_there(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    artifacts.keep("job-1", "c1-1", "first, longer")
    artifact = artifacts.keep("job-1", "c1-1", "second")

    assert artifacts.read(artifact) == "second"
    assert [path.name for path in (tmp_path / "job-1").iterdir()] == ["c1-1.txt"]


@pytest.mark.parametrize("job", ["../../etc", "a/b", "..", ".hidden", "C:\\x", "ü" * 300, "a\0b", "a b", "x" * 500])
def test_any_job_id_becomes_a_folder_inside_and_its_own(tmp_path: Path, job: str) -> None:
    artifacts = Artifacts(tmp_path / "in")
    one, other = artifacts.keep(job, "c1-1", "one"), artifacts.keep(job + "!", "c1-1", "other")

    assert (artifacts.read(one), artifacts.read(other)) == ("one", "other")
    assert one.location != other.location
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert len(one.location.split("/")) == 2


@pytest.mark.parametrize("location", ["../secret.txt", "/etc/hostname", "job/../../secret.txt", "gone/c1-1.txt", ""])
def test_what_lies_outside_or_is_gone_is_not_read_and_the_way_to_it_is_told(tmp_path: Path, location: str) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    artifacts = Artifacts(tmp_path / "in")

    with pytest.raises(ArtifactMissing, match=r"\(7 characters\) is not at .* set SUREFOOT_ARTIFACTS to the folder"):
        artifacts.read(Artifact(location=location, chars=7))


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({}, ".surefoot/artifacts"),
        ({"SUREFOOT_HOME": "home"}, "home/artifacts"),
        ({"SUREFOOT_HOME": "home", "SUREFOOT_ARTIFACTS": "shared"}, "shared"),
        ({"SUREFOOT_HOME": "", "SUREFOOT_ARTIFACTS": ""}, ".surefoot/artifacts"),
    ],
)
def test_the_folder_is_found_by_the_environment(
    environment: dict[str, str], folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Artifacts.from_environment(environment).keep("j", "c", "text")

    assert (tmp_path / folder / "j" / "c.txt").read_text() == "text"
