"""What the environment says, and what it may not say."""

import os
from pathlib import Path

import pytest

from surefoot.settings import Settings, SettingsError, read_settings


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own ~/.config profile must not matter."""
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nobody"))
    monkeypatch.chdir(tmp_path)


def test_with_nothing_set_the_embedded_server_is_used_below_the_working_directory(tmp_path: Path) -> None:
    settings = read_settings({})

    assert settings == Settings(home=tmp_path / ".surefoot", app=None, remote=None, task_queue=None, idle_seconds=30.0)
    assert settings.embedded


def test_empty_values_count_as_not_set(tmp_path: Path) -> None:
    names = ["SUREFOOT_HOME", "SUREFOOT_APP", "SUREFOOT_TASK_QUEUE", "SUREFOOT_IDLE_SECONDS"]
    empty = dict.fromkeys([*names, "TEMPORAL_ADDRESS", "TEMPORAL_CONFIG_FILE", "TEMPORAL_API_KEY"], "")

    assert read_settings(empty) == read_settings({})


def test_paths_become_absolute_and_the_command_line_wins(tmp_path: Path) -> None:
    settings = read_settings({"SUREFOOT_HOME": "a/../h", "SUREFOOT_APP": "app.py"})

    assert (settings.home, settings.app) == (tmp_path / "h", tmp_path / "app.py")
    assert read_settings({"SUREFOOT_APP": "app.py"}, app=Path("other.py")).app == tmp_path / "other.py"


def test_temporals_variables_name_a_remote_server() -> None:
    settings = read_settings({"TEMPORAL_ADDRESS": "t.example:7233", "TEMPORAL_NAMESPACE": "n", "TEMPORAL_API_KEY": "k"})

    assert not settings.embedded
    assert settings.connect_config() == {
        "target_host": "t.example:7233",
        "namespace": "n",
        "api_key": "k",
        "tls": True,
    }


def test_a_profile_names_a_remote_server_too(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text('[profile.work]\naddress = "w.example:7233"\nnamespace = "w"\n')
    environ = {"TEMPORAL_CONFIG_FILE": "t.toml", "TEMPORAL_PROFILE": "work"}

    assert read_settings(environ).connect_config() == {"target_host": "w.example:7233", "namespace": "w"}


def test_the_embedded_servers_address_comes_from_its_lease() -> None:
    settings = read_settings({"TEMPORAL_NAMESPACE": "default"})

    assert settings.connect_config("127.0.0.1:9") == {
        "target_host": "127.0.0.1:9",
        "namespace": "default",
        "tls": False,
    }
    with pytest.raises(SettingsError, match="take a lease of the embedded one, or set TEMPORAL_ADDRESS"):
        settings.connect_config()


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        ({"TEMPORAL_API_KEY": "k"}, "give an API key but no address"),
        ({"TEMPORAL_TLS": "true"}, "give TLS but no address"),
        ({"TEMPORAL_NAMESPACE": "prod"}, "give the namespace 'prod' but no address"),
        ({"TEMPORAL_PROFILE": "work"}, "Profile 'work' not found"),
        ({"TEMPORAL_CONFIG_FILE": "gone.toml"}, "TEMPORAL_CONFIG_FILE is 'gone.toml', and there is no such file"),
        ({"TEMPORAL_CONFIG_FILE": "bad.toml"}, "TOML parse error"),
        ({"TEMPORAL_ADDRESS": os.fsdecode(b"\xff")}, "can't be read"),
        ({"SUREFOOT_IDLE_SECONDS": "soon"}, "SUREFOOT_IDLE_SECONDS is 'soon'"),
        ({"SUREFOOT_IDLE_SECONDS": "-1"}, "must be a number of seconds, 0 or more"),
        ({"SUREFOOT_IDLE_SECONDS": "nan"}, "must be a number of seconds, 0 or more"),
        ({"SUREFOOT_IDLE_SECONDS": "inf"}, "must be a number of seconds, 0 or more"),
    ],
)
def test_a_value_that_can_not_be_used_is_named(tmp_path: Path, environ: dict[str, str], text: str) -> None:
    (tmp_path / "bad.toml").write_text("[[x")

    with pytest.raises(SettingsError) as caught:
        read_settings(environ)

    assert text in str(caught.value)


def test_a_working_directory_that_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    with pytest.raises(SettingsError, match=r"SUREFOOT_HOME is '.surefoot', which has no absolute path"):
        read_settings({})
    monkeypatch.chdir(tmp_path)


def test_each_app_has_a_queue_of_its_own_on_the_embedded_server() -> None:
    settings = read_settings({})

    assert settings.queue(Path("/srv/app.py")) == "surefoot-app-fd3e0b"
    assert settings.queue(Path("/srv/other/app.py")) != settings.queue(Path("/srv/app.py"))
    assert settings.queue(Path("/srv/other/../app.py")) == settings.queue(Path("/srv/app.py"))
    assert settings.queue(Path("/srv/my app/ü.py"))[:-6] == "surefoot-ü-"
    assert settings.queue(Path("/srv/a b\n.py"))[:-6] == "surefoot-a-b--"
    assert len(settings.queue(Path(f"/srv/{'x' * 200}.py"))) == len("surefoot-") + 40 + 7
    assert settings.queue() == "surefoot"


def test_a_remote_server_has_one_queue_unless_it_is_named() -> None:
    remote = {"TEMPORAL_ADDRESS": "t.example:7233"}

    assert read_settings(remote).queue(Path("/srv/app.py")) == "surefoot"
    assert read_settings({**remote, "SUREFOOT_TASK_QUEUE": "q"}).queue(Path("/srv/app.py")) == "q"
    assert read_settings({"SUREFOOT_TASK_QUEUE": "q"}).queue(Path("/srv/app.py")) == "q"
