"""Images, video and encoders on the command line."""

from __future__ import annotations

import json

import pytest

from cardmatch.cli import main


def test_a_pipeline_is_known_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    """SDXL fits both cards of the guides: status 0, a row each, the largest picture."""
    line = ["estimate", "sdxl", "--image", "1024x1024", "--card", "rtx-4090", "--card", "h100-sxm-80"]
    assert main([*line, "--language", "en"]) == 0
    told = capsys.readouterr().out
    assert "1,024 × 1,024 pixels" in told
    assert told.count("comfortable") >= 2
    assert "largest picture" in told


def test_options_are_those_of_the_request(capsys: pytest.CaptureFixture[str]) -> None:
    """Formats, tiling, guidance and offload reach the answer."""
    line = ["estimate", "flux", "--image", "768x512", "--batch", "2", "--format", "transformer=nf4", "--vae-tiling",
            "--no-guidance", "--offload", "model", "--card", "rtx-4090", "--json"]  # fmt: skip
    assert main(line) == 1
    answer = json.loads(capsys.readouterr().out)
    formats = {each["name"]: each["format"] for each in answer["need"]["components"]}
    assert formats["transformer"] == "nf4"
    assert answer["placements"][0]["verdict"] == "tight"
    assert answer["placements"][0]["host"]["ram_bytes"] > 0


def test_a_pipeline_may_be_tuned(capsys: pytest.CaptureFixture[str]) -> None:
    """LoRA of FLUX over NF4 fits a 4090 (published: 9 GB)."""
    line = ["estimate", "flux", "--train", "lora", "--format", "transformer=nf4", "--image", "512x768", "--rank", "4"]
    assert main([*line, "--card", "rtx-4090", "--language", "es"]) == 0
    assert "LoRA" in capsys.readouterr().out


def test_video_has_frames(capsys: pytest.CaptureFixture[str]) -> None:
    """HunyuanVideo as published does not fit 80 GB without tiling; ways follow."""
    assert main(["estimate", "hunyuan video", "--card", "h100-sxm-80", "--language", "zh"]) == 1
    told = capsys.readouterr().out
    assert "帧" in told
    assert "分块解码" in told


def test_encoders_are_asked_with_their_task(capsys: pytest.CaptureFixture[str]) -> None:
    """Embeddings and speech."""
    texts = ["--encode", "embedding", "--batch", "32", "--sequence", "8k"]
    assert main(["estimate", "BAAI/bge-m3", *texts, "--card", "rtx-4090"]) == 0
    speech = ["--encode", "speech", "--beams", "5", "--audio-seconds", "3600"]
    assert main(["estimate", "openai/whisper-large-v3", *speech, "--card", "rtx-4090"]) == 0
    assert "windows of audio" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["llama 3.1 8b", "--image", "512x512"], "/model"),
        (["sdxl", "--frames", "9"], "/workload/frames"),
        (["sdxl", "--context", "8k"], "/workload/context_tokens"),
        (["sdxl", "--encode", "embedding"], "/model"),
    ],
)
def test_what_does_not_go_together_is_refused(line: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 2, with the pointer of what is wrong."""
    assert main(["estimate", *line, "--language", "en"]) == 2
    captured = capsys.readouterr()
    assert said in captured.err + captured.out


def test_sides_and_formats_are_checked() -> None:
    """`big` is no picture, `nf4` no component."""
    for option, value in (("--image", "big"), ("--format", "nf4")):
        with pytest.raises(SystemExit) as wrong:
            main(["estimate", "sdxl", option, value])
        assert wrong.value.code == 2
