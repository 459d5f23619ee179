"""What must hold of every bundled pipeline."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.names.words import fold
from cardmatch.catalogue.pipelines import PipelineRow, bundled_pipelines
from cardmatch.catalogue.world import bundled
from cardmatch.engine.models.diffusion.component import Autoencoder, Medium, TextEncoder, Transformer, UNet
from cardmatch.engine.terms.band import Basis

ROWS = tuple(bundled_pipelines().rows.values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_pipeline_reads_denoises_and_decodes(row: PipelineRow) -> None:
    """Text encoder, denoiser and decoder, each with its source; names of components are different."""
    components = row.pipeline.components
    kinds = {type(named.component) for named in components}
    assert TextEncoder in kinds
    assert Autoencoder in kinds
    assert kinds & {UNet, Transformer}
    assert all(named.source for named in components)
    assert len({named.name for named in components}) == len(components)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_sizes_are_plausible(row: PipelineRow) -> None:
    """A block is part of its component, a matrix of a block; what is made by default comes out even."""
    for named in row.pipeline.components:
        on = named.component
        assert 0 < on.parameters < 10**11
        assert 0 <= on.matrix_parameters <= on.parameters
        assert 0 <= on.block_parameters <= on.parameters
    assert row.pipeline.width_pixels % 16 == row.pipeline.height_pixels % 16 == 0
    video = any(isinstance(named.component, Autoencoder) and named.component.temporal > 1
                for named in row.pipeline.components)  # fmt: skip
    assert row.pipeline.medium is Medium.IMAGE or video
    assert (row.pipeline.frames > 1) is (row.pipeline.medium is Medium.VIDEO)


def test_a_name_means_one_pipeline_and_no_language_model() -> None:
    """Every name is in the index under its own pipeline, and is not the id or alias of a language model."""
    known, others = bundled_pipelines().names, bundled().model_index.exact
    for row in ROWS:
        for name in (row.id, *row.names):
            assert known[fold(name)] == row.id, name
            assert fold(name) not in others, name


def test_most_facts_come_from_configurations() -> None:
    """What was taken from papers is the smaller part, and says so."""
    every = [named for row in ROWS for named in row.pipeline.components]
    stated = [named for named in every if named.basis is Basis.RULE_OF_THUMB]
    assert 0 < len(stated) < len(every) / 3
