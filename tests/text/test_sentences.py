"""The data files of sentences, compared with the code and with each other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cardmatch.engine.memory.explain.explanation import Rule
from cardmatch.engine.terms.fault import FaultCode
from cardmatch.engine.terms.notice import NoticeCode, QuestionCode
from cardmatch.text.language import Language
from cardmatch.text.numerals import numerals
from cardmatch.text.problem import ProblemType
from cardmatch.text.sentences import FAMILIES, PLACEHOLDER, Forms, Template, forms_of, say, sentences, templates
from cardmatch.text.units import TABLES, Value, suffix_of

CODES: dict[str, type[StrEnum]] = {
    "notices": NoticeCode,
    "faults": FaultCode,
    "problems": ProblemType,
    "details": ProblemType,
    "questions": QuestionCode,
    "explain": Rule,
}
COUNTS = {
    "age_days", "batch", "beams", "fewer", "frames", "height_pixels", "lora_rank",
    "more", "width_pixels",
    "concurrency", "context_length", "copies", "count", "denoise_steps", "divisor", "expert", "experts", "failed",
    "free_fraction", "gpu_layers", "gpu_memory_utilization", "gpus", "gradient_accumulation_steps", "growth",
    "heads", "kv_heads", "layers", "limit", "max_concurrency", "max_model_len", "max_num_seqs", "max_seq_len",
    "maximum", "mean_tokens_per_request", "micro_batch", "min_tokens_per_second_per_user",
    "minimum", "multiple", "n_cpu_moe", "n_ctx", "units_per_hour", "runs", "requests_per_second",
    "n_gpu_layers", "num_ctx", "num_gpu", "peak_factor", "pipeline", "position", "rank", "ranks", "replicas",
    "requests", "slots", "stages", "tensor", "times_slower_high", "times_slower_low", "units", "unused", "utilization",
    "data", "weeks", "widths", "epochs", "examples", "items", "mean_tokens_per_example", "output_tokens_p95",
    "images", "images_per_hour", "items_per_hour", "machines",
}  # fmt: skip
NAMES = {
    "company_country",
    "allowed", "architecture", "argument", "arguments", "as_of", "attention", "card", "cheaper_card",
    "cheapest_by_hour", "cheapest_by_job", "comfortable", "component", "components", "country", "currency",
    "does_not_fit", "each", "field", "fields", "first", "fits", "fused_experts", "fused_loss",
    "gradient_checkpointing", "high",
    "hourly", "instead", "job", "kind", "known", "label", "low", "needed", "preset",
    "measured", "method", "mig", "model", "models", "name", "next", "optimizer", "other", "part", "pattern", "place",
    "precision", "priced_on", "profile", "profiles", "provider", "providers", "queues", "reference", "second",
    "settings",
    "sharding", "source", "sources", "suggestions", "target", "targets", "task", "tasks", "tight",
    "fused_optimizer", "upcast_embeddings", "kernels", "valid_from", "valid_until", "value", "version",
}  # fmt: skip
CATEGORIES = {"zero", "one", "two", "few", "many", "other"}
ENDS = {Language.EN: (".", "?"), Language.ES: (".", "?"), Language.ZH: ("。", "？")}
LETTER = re.compile(r"[^\W\d_]")
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def _every(language: Language) -> Iterator[tuple[str, str, str]]:
    """Family, code and each form of every sentence."""
    for family in FAMILIES:
        for code, text in getattr(sentences(language), family).items():
            for form in forms_of(text):
                yield family, code, form


def _placeholders(form: str) -> set[tuple[str, str]]:
    return set(PLACEHOLDER.findall(form))


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("family", CODES)
def test_every_code_has_a_sentence_and_every_sentence_a_code(family: str, language: Language) -> None:
    """A code and its sentences are added, and removed, together."""
    assert getattr(sentences(language), family).keys() == {code.value for code in CODES[family]}


@pytest.mark.parametrize("language", Language)
def test_every_sentence_is_there_once(language: Language, root: Path) -> None:
    """A code that a data file names twice would be said in its last version, and nobody would notice."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        codes = [code for code, _ in pairs]
        assert len(codes) == len(set(codes)), sorted({code for code in codes if codes.count(code) > 1})
        return dict(pairs)

    data = root / "service" / "cardmatch" / "text" / "data" / f"{language}.json"
    json.loads(data.read_bytes(), object_pairs_hook=once)


@pytest.mark.parametrize("family", FAMILIES)
def test_languages_have_the_same_sentences(family: str) -> None:
    """Nothing can be said in one language only."""
    english = getattr(sentences(Language.EN), family).keys()
    assert [getattr(sentences(language), family).keys() == english for language in Language] == [True] * len(Language)


@pytest.mark.parametrize("language", [Language.ES, Language.ZH])
def test_placeholders_are_the_same_in_every_language(language: Language) -> None:
    """A translation gives every figure that the English sentence gives, and no other."""
    wanted = {(family, code): _placeholders(form) for family, code, form in _every(Language.EN)}
    strays = [
        (family, code, form) for family, code, form in _every(language) if _placeholders(form) != wanted[family, code]
    ]
    assert strays == []


@pytest.mark.parametrize("language", Language)
def test_forms_of_a_sentence_have_the_same_placeholders(language: Language) -> None:
    """Singular and plural differ in words only."""
    for family in FAMILIES:
        for code, text in getattr(sentences(language), family).items():
            assert len({frozenset(_placeholders(form)) for form in forms_of(text)}) == 1, (family, code)


def test_every_placeholder_has_a_unit_or_is_a_known_count_or_name() -> None:
    """How a value is written follows from the name of its placeholder, so every name is one that is known."""
    unknown = {
        name
        for _, _, form in _every(Language.EN)
        for name, _ in PLACEHOLDER.findall(form)
        if name not in COUNTS | NAMES | TABLES.keys() and suffix_of(name) is None
    }
    assert unknown == set()


@pytest.mark.parametrize("language", Language)
def test_every_brace_belongs_to_a_placeholder_or_to_json(language: Language) -> None:
    """A mistyped placeholder would be printed as it stands."""
    for family, code, form in _every(language):
        rest = PLACEHOLDER.sub("", form).replace('{"card": {"memory_bytes": …}}', "")
        assert not re.search(r"[{}]", rest), (family, code, form)


@pytest.mark.parametrize("language", Language)
def test_sentences_are_whole(language: Language) -> None:
    """Every sentence begins like one and ends like one, because nothing is put together from pieces."""
    for family, code, form in _every(language):
        if family == "phrases":  # names of things, which stand in a sentence as any name does
            continue
        assert form.endswith(ENDS[language]), (family, code, form)
        first = form.lstrip("“«¿")[0]
        assert language is Language.ZH or not first.isalpha() or first.isupper(), (family, code, form)


def test_translations_differ() -> None:
    """No sentence was left in another language."""
    for family in FAMILIES:
        for code, text in getattr(sentences(Language.EN), family).items():
            if not any(LETTER.search(PLACEHOLDER.sub("", form)) for form in forms_of(text)):
                continue  # signs and figures only
            versions = [text, *(getattr(sentences(language), family)[code] for language in (Language.ES, Language.ZH))]
            spoken = {form for version in versions for form in forms_of(version)}
            assert len(spoken) == sum(len(set(forms_of(version))) for version in versions), (family, code)


def test_chinese_is_written_with_chinese_punctuation() -> None:
    """Between Chinese characters stand full-width signs, and quotation marks are curved."""
    for family, code, form in _every(Language.ZH):
        bare = PLACEHOLDER.sub("X", form).replace('{"card": {"memory_bytes": …}}', "X")
        assert CHINESE.search(bare) or family == "phrases", (family, code)
        assert not re.search(r"[\u4e00-\u9fff”）]\s*[,.;:?!]|[,;:?!]\s*[\u4e00-\u9fff]|\"", bare), (family, code, form)


def test_spanish_opens_questions_and_quotes_its_own_way() -> None:
    """Questions open with an inverted mark, and quotation marks are angular."""
    for family, code, form in _every(Language.ES):
        assert form.count("?") - form.count("?query=") == form.count("¿"), (family, code)
        assert not re.search("[“”]", form), (family, code)


@pytest.mark.parametrize("language", Language)
def test_plural_forms_are_those_of_the_language(language: Language) -> None:
    """A sentence with forms has one for every category that CLDR gives whole numbers up to a million."""
    needed = {numerals(language).plural(count) for count in range(1_000)}

    def check(template: Template | Forms) -> None:
        if isinstance(template, Forms):
            assert template.forms.keys() >= needed or not template.forms.keys() & CATEGORIES - {"other"}
            assert "other" in template.forms
            for form in template.forms.values():
                check(form)

    for family in FAMILIES:
        for template in templates(language)[family].values():
            check(template)


@settings(max_examples=25)
@given(st.sampled_from(Language), st.integers(0, 10**12), st.text(max_size=200), st.lists(st.text(max_size=9)))
def test_every_sentence_can_be_said_of_anything(language: Language, figure: int, name: str, names: list[str]) -> None:
    """No figure, name or list is too odd for a sentence, and a sentence without them has none of them."""
    for family in FAMILIES:
        for code, text in getattr(sentences(language), family).items():
            values: dict[str, Value] = {}
            for form in forms_of(text):
                for slot, listing in PLACEHOLDER.findall(form):
                    measured = slot in COUNTS or suffix_of(slot)
                    values[slot] = figure if measured else names if listing else name
            if isinstance(text, dict):
                values[text["by"]] = figure
            assert say(family, code, values, language)


def test_a_count_chooses_the_form() -> None:
    """One is singular and nought plural in English."""
    assert say("faults", "text_too_long", {"maximum": 1}, Language.EN).endswith("1 character.")
    assert say("faults", "text_too_long", {"maximum": 0}, Language.EN).endswith("0 characters.")
    assert say("faults", "text_too_long", {"maximum": 1}, Language.ES).endswith("1 carácter.")


def test_a_word_or_a_truth_chooses_the_form() -> None:
    """What a default was decides how it is said, where a word alone would not do."""
    fused = [say("assumptions", "/workload/fused_loss", {"fused_loss": given}, Language.EN) for given in (True, False)]
    assert fused[0].endswith("the fused one of the framework was assumed.")
    assert fused[1].endswith("none was assumed.")
    recomputed = say("assumptions", "/workload/gradient_checkpointing", {"gradient_checkpointing": "full"}, Language.EN)
    assert "every layer was taken to be recomputed" in recomputed


@pytest.mark.parametrize("language", Language)
def test_bytes_are_always_said_in_gib(language: Language) -> None:
    """8.03 billion 16-bit weights are 14.96 GiB in every language, and nowhere 16.06 GB."""
    said = say("notices", "training_offload", {"offloaded_bytes": 16_060_522_496}, language)
    assert re.search(r"14[.,]96 GiB", said)
    assert "GB" not in said


def test_a_parameter_that_is_missing_is_a_mistake_of_the_program() -> None:
    """A sentence is never said with a hole in it."""
    with pytest.raises(KeyError, match="limit_tokens"):
        say("notices", "context_beyond_model", {"context_tokens": 1}, Language.EN)


def test_percent_signs_and_braces_of_a_value_stay_as_they_are() -> None:
    """A caller's own text is never read as a pattern."""
    said = say("faults", "unknown_model", {"name": "100 %s {name}"}, Language.EN)
    assert "“100 %s {name}”" in said


def test_long_texts_of_a_caller_are_cut() -> None:
    """A sentence repeats the beginning of what it was given, not megabytes of it."""
    assert len(say("faults", "unknown_card", {"name": "x" * 100_000}, Language.EN)) < 300
