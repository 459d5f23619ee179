"""GET /models and GET /models/{id}: the models by the words of their names, and all that is known of one."""

from __future__ import annotations

import pytest

from cardmatch.answers.models import ModelQuery, ModelsQuery, WorkloadKind, list_models, show_model
from cardmatch.answers.pipelines import PipelineQuery, show_pipeline
from cardmatch.catalogue.world import bundled
from cardmatch.engine.terms.fault import FaultCode, Invalid
from cardmatch.engine.terms.units import GIB

WORLD = bundled()


def test_every_model_is_listed_once_by_id() -> None:
    """Pages follow each other without gap or repetition."""
    ids: list[str] = []
    cursor = None
    while True:
        page = list_models(WORLD, ModelsQuery(limit=100, cursor=cursor))
        ids += [model.id for model in page.models]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert ids == sorted([*WORLD.models, *WORLD.pipelines.rows])
    assert page.total == len(ids)


def test_a_query_finds_words_in_any_order() -> None:
    """Separators and order do not matter, and Chinese family names count."""
    found = {model.id for model in list_models(WORLD, ModelsQuery(query="8b llama 3.1")).models}
    assert "meta-llama/Llama-3.1-8B-Instruct" in found
    assert "Qwen/Qwen3-32B" in {model.id for model in list_models(WORLD, ModelsQuery(query="千问3 32b")).models}
    assert list_models(WORLD, ModelsQuery(query="no such model")).models == ()


def test_conditions_add_up() -> None:
    """Family and size narrow the listing."""
    page = list_models(WORLD, ModelsQuery(family="llama", max_parameters=2_000_000_000, limit=200))
    assert page.models
    assert all(model.family == "llama" and model.parameters <= 2_000_000_000 for model in page.models)


def test_one_model_is_shown_with_its_sizes() -> None:
    """Llama-3.1-8B: 8,030,261,248 parameters, 14.96 GiB in bf16, 128 KiB of cache a token, as published."""
    answer = show_model(WORLD, ModelQuery(id="llama 3.1 8b"))
    assert answer.id == "meta-llama/Llama-3.1-8B-Instruct"
    assert answer.parameters.total == answer.published_parameters == 8_030_261_248
    assert round(answer.weights_bytes / GIB, 2) == 14.96
    assert sum(row.bytes_per_token for row in answer.kv_cache) == 131_072
    assert "unsloth/Meta-Llama-3.1-8B-Instruct" in answer.names


def test_an_unknown_model_is_refused_at_the_path() -> None:
    """The suggestions are the models that it could mean."""
    with pytest.raises(Invalid) as refused:
        show_model(WORLD, ModelQuery(id="llama 70b"))
    (fault,) = refused.value.faults
    assert (fault.code, fault.pointer) == (FaultCode.AMBIGUOUS_MODEL, "/id")


def test_pipelines_and_encoders_are_listed_by_what_they_are_for() -> None:
    """SDXL by an everyday name, BGE among what encodes; neither among what chats."""
    by_kind = {
        kind: {model.id for model in list_models(WORLD, ModelsQuery(workload=kind, limit=200)).models}
        for kind in (WorkloadKind.ENCODE, WorkloadKind.DIFFUSION)
    }
    assert by_kind[WorkloadKind.DIFFUSION] == set(WORLD.pipelines.rows)
    assert {"BAAI/bge-m3", "openai/whisper-large-v3"} <= by_kind[WorkloadKind.ENCODE]
    assert "meta-llama/Llama-3.1-8B-Instruct" not in by_kind[WorkloadKind.ENCODE]
    (sdxl, _) = list_models(WORLD, ModelsQuery(query="sdxl")).models
    assert (sdxl.id, sdxl.family) == ("stabilityai/stable-diffusion-xl-base-1.0", "diffusion")


def test_a_pipeline_is_shown_with_its_components() -> None:
    """And asked for as a model it is pointed to."""
    answer = show_pipeline(WORLD, PipelineQuery(id="sdxl"))
    assert [named.name for named in answer.components] == ["text_encoder", "text_encoder_2", "unet", "vae"]
    assert answer.parameters == sum(named.parameters for named in answer.components)
    with pytest.raises(Invalid) as refused:
        show_model(WORLD, ModelQuery(id="sdxl"))
    assert refused.value.faults[0].code == FaultCode.PIPELINE_ELSEWHERE


def test_an_unknown_pipeline_is_refused_with_suggestions() -> None:
    """The pipelines that it may be a misspelling of."""
    with pytest.raises(Invalid) as refused:
        show_pipeline(WORLD, PipelineQuery(id="stable difusion xl"))
    (fault,) = refused.value.faults
    assert (fault.code, fault.pointer) == (FaultCode.UNKNOWN_PIPELINE, "/id")
    assert "stabilityai/stable-diffusion-xl-base-1.0" in fault.suggestions
