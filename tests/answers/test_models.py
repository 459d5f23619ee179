"""GET /models and GET /models/{id}: the models by the words of their names, and all that is known of one."""

from __future__ import annotations

import pytest

from cardmatch.answers.models import ModelQuery, ModelsQuery, list_models, show_model
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
    assert ids == sorted(WORLD.models)
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
