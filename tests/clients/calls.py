"""Asks a running server everything with the generated Python client: `calls.py URL`. What comes back is typed."""

from __future__ import annotations

import sys

from cardmatch_client import Client
from cardmatch_client.api.catalogue import (
    list_cards,
    list_models,
    list_offers,
    list_providers,
    show_card,
    show_catalogue,
    show_model,
)
from cardmatch_client.api.questions import cost, estimate_vram, recommend
from cardmatch_client.models import (
    CallerPrice,
    CardAnswer,
    CardChoice,
    CardsPage,
    CatalogueAnswer,
    ConfigModel,
    ConfigModelSafetensors,
    Cost,
    CostRequest,
    Diffusion,
    DiffusionAnswer,
    Encode,
    EncodeAnswer,
    EncodeTask,
    Estimate,
    EstimateRequest,
    Inference,
    Job,
    JsonObject,
    Load,
    Measured,
    Method,
    ModelAnswer,
    ModelsPage,
    OfferOrder,
    OffersPage,
    Option,
    Problem,
    ProvidersPage,
    Recommendation,
    RecommendRequest,
    TokenApiPrice,
    Training,
    TrainingAnswer,
    Verdict,
    Vllm,
    VllmReserves,
    WorkUnit,
)

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def estimates(client: Client) -> None:
    """The four kinds of workload, each answered by its own type."""
    inference = Inference(kind="inference", engine=Vllm(kind="vllm"), context_tokens=8192, concurrency=16)
    request = EstimateRequest(
        model=LLAMA, workload=inference, cards=["rtx-4090", CardChoice(card="h100-sxm-80", count=2)]
    )
    answer = estimate_vram.sync(client=client, body=request)
    assert isinstance(answer, Estimate)
    assert [each.verdict for each in answer.placements] == [Verdict.QUEUES, Verdict.COMFORTABLE]
    reserves = answer.placements[0].engine_reserves
    assert isinstance(reserves, VllmReserves)
    assert reserves.kv_cache_tokens > 0
    training = Training(kind="training", method=Method.LORA)
    diffusion, encode = Diffusion(kind="diffusion"), Encode(kind="encode", task=EncodeTask.SPEECH)
    asked = (("8B", training), ("sdxl", diffusion), ("openai/whisper-large-v3", encode))
    answers = [estimate_vram.sync(client=client, body=EstimateRequest(model=m, workload=w)) for m, w in asked]
    assert [type(each) for each in answers] == [TrainingAnswer, DiffusionAnswer, EncodeAnswer]


def config(client: Client) -> None:
    """A model by its config.json and the elements of its checkpoint (Qwen2.5-0.5B)."""
    given = {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "torch_dtype": "bfloat16",
        "hidden_size": 896,
        "intermediate_size": 4864,
        "num_hidden_layers": 24,
        "num_attention_heads": 14,
        "num_key_value_heads": 2,
        "max_position_embeddings": 32768,
        "vocab_size": 151936,
        "tie_word_embeddings": True,
    }
    elements = ConfigModelSafetensors.from_dict({"BF16": 494_032_768})
    model = ConfigModel(kind="config", config=JsonObject.from_dict(given), safetensors=elements)
    answer = estimate_vram.sync(client=client, body=EstimateRequest(model=model))
    assert isinstance(answer, Estimate)
    assert answer.need.weights_bytes == 2 * 494_032_768


def questions(client: Client) -> None:
    """Which card, and what does it cost."""
    load = Load(prompt_tokens=1000, output_tokens=300, requests_per_second=5)
    found = recommend.sync(client=client, body=RecommendRequest(model=LLAMA, load=load))
    assert isinstance(found, Recommendation)
    assert found.options[0].rank == 1
    asked = found.options[0].cost_request
    assert asked is not None
    again = cost.sync(client=client, body=CostRequest.from_dict(asked.to_dict()))
    assert isinstance(again, Cost)
    assert again.options[0].usd_per_month == found.options[0].usd_per_month
    own = Option(
        label="own",
        price=CallerPrice(kind="caller", usd_per_hour=1),
        throughput=Measured(kind="measured", units_per_second=1000),
    )
    api = Option(
        label="api", price=TokenApiPrice(kind="token_api", usd_per_million_input=0.2, usd_per_million_output=0.6)
    )
    job = Job(kind="job", unit=WorkUnit.TOKEN, units=10**9, prompt_tokens=1000, output_tokens=300)
    bill = cost.sync(client=client, body=CostRequest(options=[own, api], work=job))
    assert isinstance(bill, Cost)
    assert [each.label for each in bill.options] == ["own", "api"]
    assert bill.options[0].total.expected_usd > 0


def catalogue(client: Client) -> None:
    """Every listing, and every single thing."""
    cards = list_cards.sync(client=client, card=["rtx-4090"])
    assert isinstance(cards, CardsPage)
    assert [each.id for each in cards.cards] == ["rtx-4090"]
    card = show_card.sync("rtx-4090", client=client)
    assert isinstance(card, CardAnswer)
    assert card.card.memory_gb == 24
    models = list_models.sync(client=client, query="llama 3.1 8b", limit=2)
    assert isinstance(models, ModelsPage)
    assert models.models
    model = show_model.sync(LLAMA, client=client)
    assert isinstance(model, ModelAnswer)
    assert model.id == LLAMA
    offers = list_offers.sync(client=client, card=["rtx-4090"], order=OfferOrder.PRICE, limit=2)
    assert isinstance(offers, OffersPage)
    assert len(offers.offers) == 2 < offers.total
    providers = list_providers.sync(client=client, server_country=["eu"], limit=2)
    assert isinstance(providers, ProvidersPage)
    assert len(providers.providers) == 2
    snapshot = show_catalogue.sync(client=client)
    assert isinstance(snapshot, CatalogueAnswer)
    assert snapshot.version


def refusals(client: Client) -> None:
    """A problem comes back as one, with where it is."""
    answer = estimate_vram.sync(client=client, body=EstimateRequest(model="no such model anywhere"))
    assert isinstance(answer, Problem)
    assert answer.status == 422
    assert answer.errors
    assert answer.errors[0].pointer == "/model"


if __name__ == "__main__":
    with Client(base_url=sys.argv[1], raise_on_unexpected_status=True) as server:
        for part in (estimates, config, questions, catalogue, refusals):
            part(server)
