"""What can be set from outside, and what happens where it is set wrongly."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec import inspect

from cardmatch import settings
from cardmatch.settings import BadSetting, LogLevel, Settings


def _fields() -> dict[str, inspect.Field]:
    kind = inspect.type_info(Settings)
    assert isinstance(kind, inspect.StructType)
    return {settings.PREFIX + field.name.upper(): field for field in kind.fields}


def _documented(root: Path) -> dict[str, list[str]]:
    rows = re.findall(
        r"(?m)^\| `(CARDMATCH_\w+)` \| `(.*)` \| (.*) \| (.*) \|$", (root / "docs/settings.md").read_text()
    )
    return {name: rest for name, *rest in rows}


def test_every_setting_is_documented_and_nothing_else(root: Path) -> None:
    """The table of docs/settings.md has the variables of Settings, in their order."""
    assert list(_documented(root)) == list(_fields())


def test_documented_defaults_and_descriptions_are_the_real_ones(root: Path) -> None:
    """A default or a description that changes must change in the table."""
    documented = _documented(root)
    for name, field in _fields().items():
        default, _, description = documented[name]
        assert default == str(field.default), name
        kind = field.type
        assert isinstance(kind, inspect.Metadata)
        assert description == (kind.extra_json_schema or {})["description"], name


def test_documented_bounds_are_the_real_ones(root: Path) -> None:
    """`1 to 64` in the table means that 1 and 64 are taken, and 0 and 65 are not."""
    checked = 0
    for name, (_, takes, _) in _documented(root).items():
        if found := re.fullmatch(r"(\d+) to (\d+)", takes):
            low, high = int(found[1]), int(found[2])
            beside = {"CARDMATCH_REDIS_URL": "redis://localhost"}
            settings.read({name: str(low), **beside})
            settings.read({name: str(high), **beside})
            for outside in (low - 1, high + 1):
                with pytest.raises(BadSetting, match=name):
                    settings.read({name: str(outside), **beside})
            checked += 1
    assert checked >= 6


def test_without_variables_the_defaults_hold() -> None:
    """Nothing has to be set."""
    assert settings.read({}) == Settings()
    assert settings.read({"PATH": "x", "OTHER_WORKERS": "3"}) == Settings()


def test_variables_are_read_into_their_types() -> None:
    """Text becomes numbers and enumeration members."""
    chosen = settings.read({"CARDMATCH_WORKERS": "3", "CARDMATCH_LOG_LEVEL": "error", "CARDMATCH_BIND_HOST": "::1"})
    assert (chosen.workers, chosen.log_level, chosen.bind_host) == (3, LogLevel.ERROR, "::1")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CARDMATCH_WORKERS", "many"),
        ("CARDMATCH_WORKERS", ""),
        ("CARDMATCH_LOG_LEVEL", "loud"),
        ("CARDMATCH_LOG_SLOWER_THAN_SECONDS", "nan"),
        ("CARDMATCH_BIND_HOST", ""),
        ("CARDMATCH_REDIS_URL", "http://cache"),
        ("CARDMATCH_REDIS_NAMESPACE", "{a}"),
        ("CARDMATCH_REDIS_CA_FILE", "no/such/file.pem"),
        ("CARDMATCH_HUB_URL", "hub.example"),
        ("CARDMATCH_HUB_URL", "https://user@hub.example"),
        ("CARDMATCH_HUB_TOKEN", "two words"),
        ("CARDMATCH_API_KEYS", "me=abc"),
        ("CARDMATCH_API_KEYS", "a b=" + "0" * 64),
        ("CARDMATCH_API_KEYS_FILE", "no/such/file"),
        ("CARDMATCH_RATE_LIMIT_PER_MINUTE", "60"),
        ("CARDMATCH_CORS_ORIGINS", "https://a.example/path"),
        ("CARDMATCH_CORS_ORIGINS", "null"),
        ("CARDMATCH_METRICS", "perhaps"),
    ],
)
def test_a_wrong_value_is_named(name: str, value: str) -> None:
    """The message says which variable, so that nobody has to guess."""
    with pytest.raises(BadSetting, match=f"^{name}: "):
        settings.read({name: value})


def test_keys_come_from_the_variable_and_from_the_file(tmp_path: Path) -> None:
    """Both add up, so that a file may hold most and a variable one more; an empty file locks nobody in."""
    listed = tmp_path / "keys"
    listed.write_text(f"# of the team\nfirst={'0' * 64}\nsecond={'1' * 64} # until May\n")
    chosen = settings.read({"CARDMATCH_API_KEYS": f"third={'2' * 64}", "CARDMATCH_API_KEYS_FILE": str(listed)})
    assert {name for name, _ in settings.api_keys(chosen).entries} == {"first", "second", "third"}
    listed.write_text("# nobody\n")
    with pytest.raises(BadSetting, match="CARDMATCH_API_KEYS_FILE"):
        settings.read({"CARDMATCH_API_KEYS_FILE": str(listed)})


def test_misspelt_variables_are_found_and_kubernetes_ones_are_not() -> None:
    """Kubernetes sets variables for a service of our name; they are neither settings nor mistakes."""
    links = {
        "CARDMATCH_SERVICE_HOST": "10.0.0.7",
        "CARDMATCH_SERVICE_PORT_HTTP": "80",
        "CARDMATCH_PORT": "tcp://10.0.0.7:80",
        "CARDMATCH_PORT_8000_TCP": "tcp://10.0.0.7:80",
        "CARDMATCH_PORT_8000_TCP_ADDR": "10.0.0.7",
    }
    environ = dict.fromkeys(["CARDMATCH_WORKER", "CARDMATCH_WORKERS", "HOME"], "1") | links
    assert settings.unknown(environ) == ["CARDMATCH_WORKER"]
    assert settings.unknown(environ | {"CARDMATCH_PORT": "8417"}) == ["CARDMATCH_PORT", "CARDMATCH_WORKER"]
