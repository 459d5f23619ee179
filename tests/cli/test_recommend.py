"""`cardmatch recommend`."""

from __future__ import annotations

import json

import pytest

from cardmatch.cli import main

LOAD = ["--prompt-tokens", "1000", "--output-tokens", "300", "--requests-per-day", "10k", "--priced-on", "2026-11-30"]


def test_options_are_a_table_with_the_counsel_below(capsys: pytest.CaptureFixture[str]) -> None:
    """The summary first, one row an option, then what to look out for."""
    assert main(["recommend", "llama 3.1 8b", *LOAD, "--limit", "3", "--language", "en"]) == 0
    printed = capsys.readouterr().out
    assert "is best" in printed.splitlines()[0]
    assert "1. 1 × " in printed
    assert "3. " in printed


def test_the_json_is_that_of_the_api(capsys: pytest.CaptureFixture[str]) -> None:
    """With its conditions taken over."""
    card = ["--card", "h100-sxm-80", "--max-usd-per-hour", "3", "--json"]
    assert main(["recommend", "llama 3.1 8b", *LOAD, *card]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {option["card"] for option in answer["options"]} == {"h100-sxm-80"}
    assert all(option["usd_per_hour"] <= 3 for option in answer["options"])


def test_nothing_that_qualifies_ends_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    """And says what comes nearest, in the language asked for."""
    line = ["recommend", "llama 3.1 405b", "--max-usd-per-hour", "0.1", "--language", "es"]
    assert main(line) == 1
    assert "Ninguna oferta" in capsys.readouterr().out


def test_an_unknown_card_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    """With the field and what it could be."""
    assert main(["recommend", "7B", "--card", "rtx-490"]) == 2
    assert "/constraints/cards/0" in capsys.readouterr().err


@pytest.mark.parametrize("flag", [["--profile", "startup"], ["--job", "batch"], ["--scenario", "concurrent_serving"]])
def test_a_preset_is_named_by_a_flag(flag: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """And what it filled in is said below the options."""
    assert main(["recommend", "llama 3.1 8b", *flag, "--priced-on", "2026-11-30", "--language", "en"]) == 0
    assert f"The preset “{flag[1]}” filled in" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["sdxl", "--images", "50k", "--deadline-hours", "10", "--steps", "30"], "per thousand images"),
        (["flux", "--images-per-hour", "1k", "--image", "1024x768", "--p95-latency-seconds", "60"], "images an hour"),
        (["wan 2.1", "--images", "10", "--frames", "81", "--image", "832x480"], "items"),
        (["bge-m3", "--items-per-second", "200", "--sequence", "512", "--batch", "16"], "per thousand items"),
        (["bge-m3", "--items", "10m", "--weights", "fp16"], "per thousand items"),
        (["whisper large v3", "--items", "1k", "--audio-seconds", "3600"], "per thousand items"),
    ],
)
def test_pictures_texts_and_recordings_are_asked_for_in_short(
    line: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The kind of workload follows from the model."""
    assert main(["recommend", *line, "--priced-on", "2026-11-30", "--language", "en"]) == 0
    assert said in capsys.readouterr().out.splitlines()[0]


def test_offload_is_allowed_by_a_flag(capsys: pytest.CaptureFixture[str]) -> None:
    """FLUX in 16 bits on a 4090 only."""
    line = ["recommend", "flux", "--images", "100", "--card", "rtx-4090", "--format", "vae=bf16", "--language", "en"]
    assert main(line) == 1
    assert main([*line, "--offload"]) == 0
    assert "tight" in capsys.readouterr().out


def test_settings_of_pictures_and_texts_at_once_are_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    """Refused as a request would be, at the field."""
    assert main(["recommend", "sdxl", "--steps", "30", "--audio-seconds", "10"]) == 2
    assert "audio_seconds" in capsys.readouterr().err
