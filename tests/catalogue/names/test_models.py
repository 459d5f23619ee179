"""What people call models, and which row of the catalogue that means."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.bundled_models import bundled_models
from cardmatch.catalogue.names.models import Match, resolve_model_name
from cardmatch.catalogue.names.words import bare_size
from cardmatch.engine.terms.fault import FaultCode, Invalid

INDEX = bundled_models().index


@pytest.mark.parametrize(
    ("name", "model", "match"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct", Match.ID),
        ("META-LLAMA/llama-3.1-8b-instruct", "meta-llama/Llama-3.1-8B-Instruct", Match.ID),
        ("llama 3.1 8b", "meta-llama/Llama-3.1-8B-Instruct", Match.LOOSE),
        ("llama3.1:8b", "meta-llama/Llama-3.1-8B-Instruct", Match.LOOSE),
        ("千问3 32b", "Qwen/Qwen3-32B", Match.LOOSE),
        ("通义千问3", "Qwen/Qwen3-8B", Match.FAMILY),
        ("gpt-oss 120b", "openai/gpt-oss-120b", Match.LOOSE),
        ("qwen3 30b a3b", "Qwen/Qwen3-30B-A3B", Match.LOOSE),
        ("7B", "Qwen/Qwen2.5-7B-Instruct", Match.SIZE),
        ("70亿", "Qwen/Qwen2.5-7B-Instruct", Match.SIZE),
    ],
)
def test_a_name_means_one_model(name: str, model: str, match: Match) -> None:
    """Ids whatever their case, loose names in two scripts, families, and bare sizes."""
    found = resolve_model_name(INDEX, name)
    assert (found.id, found.match) == (model, match)


@pytest.mark.parametrize(
    ("name", "model", "weights"),
    [
        ("Qwen/Qwen3-32B-AWQ", "Qwen/Qwen3-32B", "awq_int4"),
        ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "meta-llama/Llama-3.3-70B-Instruct", "fp8"),
        ("llama-3.3-70b-instruct-gptq-int4", "meta-llama/Llama-3.3-70B-Instruct", "gptq_int4"),
        ("llama 3.1 70b awq", "meta-llama/Llama-3.1-70B-Instruct", "awq_int4"),
        ("bartowski/Meta-Llama-3.1-8B-Instruct-GGUF", "meta-llama/Llama-3.1-8B-Instruct", "gguf:Q4_K_M"),
        ("llama 3.1 8b q5_k_m", "meta-llama/Llama-3.1-8B-Instruct", "gguf:Q5_K_M"),
        ("Llama-3.1-8B-Instruct:UD-Q4_K_XL", "meta-llama/Llama-3.1-8B-Instruct", "gguf:UD-Q4_K_XL"),
        ("TheBloke/Llama-2-13B-chat-AWQ", "meta-llama/Llama-2-13b-chat-hf", "awq_int4"),
    ],
)
def test_a_mirror_says_the_format_that_it_stores(name: str, model: str, weights: str) -> None:
    """The suffix of a quantised copy is its number format."""
    found = resolve_model_name(INDEX, name)
    assert (found.id, found.weights) == (model, weights)


@pytest.mark.parametrize("name", ["lama 3.1 8b", "foo/bar", "💥", "llama 9 8b", "mistral-7b-finetuned-on-my-mail"])
def test_nobody_is_guessed(name: str) -> None:
    """A name with a word that no model has is refused, with the names that come near."""
    with pytest.raises(Invalid) as refused:
        resolve_model_name(INDEX, name)
    assert refused.value.faults[0].code is FaultCode.UNKNOWN_MODEL


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("tiiuae/falcon-7b", "tiiuae/falcon-mamba-7b-instruct"),
        ("falcon 7b", "tiiuae/falcon-mamba-7b-instruct"),
        ("internlm/internlm-20b", "internlm/internlm2_5-20b-chat"),
        ("internlm 20b", "internlm/internlm2_5-20b-chat"),
        ("baichuan-inc/Baichuan-13B-Chat", "baichuan-inc/Baichuan2-13B-Chat"),
        ("baichuan 13b", "baichuan-inc/Baichuan2-13B-Chat"),
        ("qwen3-32b-instruct", "Qwen/Qwen3-VL-32B-Instruct"),
        ("yi 9b", "01-ai/Yi-1.5-9B-Chat"),
    ],
)
def test_another_kind_or_generation_is_only_suggested(name: str, near: str) -> None:
    """A word that makes it another model (mamba, vl, 2.5) is never added to what was asked."""
    with pytest.raises(Invalid) as refused:
        resolve_model_name(INDEX, name)
    assert refused.value.faults[0].code in {FaultCode.UNKNOWN_MODEL, FaultCode.AMBIGUOUS_MODEL}
    assert near in refused.value.faults[0].suggestions


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("mistral 7b", "mistralai/Mistral-7B-Instruct-v0.3"),
        ("llama 2 13b", "meta-llama/Llama-2-13b-chat-hf"),
        ("qwen 7b", "Qwen/Qwen-7B-Chat"),
        ("gemma 3 27b", "google/gemma-3-27b-it"),
        ("llama 3.2 11b", "meta-llama/Llama-3.2-11B-Vision-Instruct"),
        ("llama 4 scout", "meta-llama/Llama-4-Scout-17B-16E-Instruct"),
        ("olmo 2 7b", "allenai/OLMo-2-1124-7B-Instruct"),
    ],
)
def test_usual_words_and_dates_may_be_left_out(name: str, model: str) -> None:
    """What people leave out of a name does not change which model is meant."""
    assert resolve_model_name(INDEX, name).id == model


def test_near_misses_are_suggested() -> None:
    """A slip of one letter still finds the model that was meant."""
    with pytest.raises(Invalid) as refused:
        resolve_model_name(INDEX, "lama 3.1 8b")
    assert "meta-llama/Llama-3.1-8B-Instruct" in refused.value.faults[0].suggestions


def test_several_models_are_not_one() -> None:
    """“llama 70b” may mean three generations; each is named."""
    with pytest.raises(Invalid) as refused:
        resolve_model_name(INDEX, "llama 70b")
    fault = refused.value.faults[0]
    assert fault.code is FaultCode.AMBIGUOUS_MODEL
    assert "meta-llama/Llama-3.3-70B-Instruct" in fault.suggestions
    assert "meta-llama/Llama-2-70b-hf" in fault.suggestions


@pytest.mark.parametrize(
    ("text", "billions"),
    [("7B", 7), ("0,5 b", 0.5), ("1T", 1000), ("13 billion parameters", 13), ("320亿", 32), ("7", None), ("b", None)],
)
def test_a_bare_size_is_read_in_every_tongue(text: str, billions: float | None) -> None:
    """A size alone is a size; a number without unit is not."""
    assert bare_size(text) == billions


def test_every_id_and_alias_resolves_to_itself() -> None:
    """No id is shadowed by another name, and no alias points nowhere."""
    models = bundled_models().models
    for id_ in models:
        assert resolve_model_name(INDEX, id_).id == id_
    listed = [name for name, alias in INDEX.names.aliases.items() if alias.id in models]
    assert len(listed) > 800
    assert all(resolve_model_name(INDEX, name).id in models for name in listed)


def test_every_alias_means_its_model() -> None:
    """All aliases of the data file, as they are written there."""
    aliases = INDEX.names.aliases
    assert [name for name, alias in aliases.items() if resolve_model_name(INDEX, name).id != alias.id] == []
