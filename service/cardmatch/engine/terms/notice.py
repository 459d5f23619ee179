"""What an answer says in words: a code with parameters; the sentence is filled in by the `text` room."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

Scalar = (
    str | Annotated[int, Meta(ge=-(1 << 62), le=1 << 62)] | Annotated[float, Meta(ge=-1e30, le=1e30)] | bool
)  # bounded, so that no answer holds NaN or infinity
Params = dict[str, Scalar | list[str]]


class Severity(StrEnum):
    """How much a notice matters."""

    INFO = "info"
    CAUTION = "caution"
    WARNING = "warning"


class NoticeCode(StrEnum):
    """Every notice that an answer may carry. `text/` has one sentence per code and language."""

    CONTEXT_BEYOND_MODEL = "context_beyond_model"  # context_tokens, limit_tokens: the model's own
    SAME_SHAPE = "same_shape"  # model: the name that was given, reference: the model whose tensors have its shapes
    FORMAT_ASSUMED = "format_assumed"  # model: the name that was given, format: of its weights, which no file told
    TYPICAL_MODEL = "typical_model"  # model: the size that was named, reference: the model that stands for it
    FORMAT_NOT_NATIVE = "format_not_native"  # card, format
    NO_FAST_LINK = "no_fast_link"  # card, count
    MEMORY_HELD_BY_OTHERS = "memory_held_by_others"  # engine, needed_bytes, free_bytes, gpu_memory_utilization
    RESIDENTS_TAKE = "residents_take"  # models, resident_bytes: other models on each GPU
    REQUESTS_CAPPED = "requests_capped"  # engine, concurrency, limit: requests that the engine runs at once
    REQUESTS_WAIT = "requests_wait"  # max_concurrency, concurrency: that was asked for
    MAX_LENGTH_NEEDED = "max_length_needed"  # engine, limit_tokens: the model's own, context_tokens
    OPTIONS_WITHOUT_EFFECT = "options_without_effect"  # arguments: of a command line
    OPTIONS_NOT_CONSIDERED = "options_not_considered"  # arguments: that change memory in ways that are not computed
    VERSION_NEWER = "version_newer"  # engine, version, known: the newest whose rules are known
    CHECKPOINT_NEEDED = "checkpoint_needed"  # model, format, engine
    OFFLOAD = "offload"  # offloaded_bytes, times_slower_low, times_slower_high
    CONTEXT_BEYOND_SLOT = "context_beyond_slot"  # context_tokens, limit_tokens: what the engine's options allow
    FIT_MOVES_LAYERS = "fit_moves_layers"  # margin_bytes that llama.cpp leaves free, moved_bytes that go to RAM
    TRAINING_OFFLOAD = "training_offload"  # offloaded_bytes
    HOST_RAM_SHORT = "host_ram_short"  # needed_bytes, available_bytes, missing_bytes of the machine's memory
    ENCODER_COUNTED = "encoder_counted"  # source_tokens that the encoder reads with each sequence
    TOWERS_NOT_COUNTED = "towers_not_counted"  # no param
    EXAMPLES_CUT = "examples_cut"  # mean_tokens of an example, sequence_tokens
    ALLOCATOR_SQUEEZED = "allocator_squeezed"  # budget_bytes
    PRECISION_NOT_NATIVE = "precision_not_native"  # card, precision, instead: those that the card has
    FLASH_NOT_ON_CARD = "flash_not_on_card"  # card
    EXPERTS_NOT_QUANTISED = "experts_not_quantised"  # format
    COMPONENTS_OFFLOADED = "components_offloaded"  # offloaded_bytes
    COMPONENTS_ASSUMED = "components_assumed"  # components: names of those whose facts are not of a configuration
    COMPONENTS_MISSING = "components_missing"  # components: names of those that pipelines have and this one lacks
    SIZE_NOT_MADE = "size_not_made"  # width_pixels, height_pixels, multiple: pixels that divide what is made
    FRAMES_NOT_MADE = "frames_not_made"  # frames, fewer, more: the next that are made
    ENCODER_LENGTH_BEYOND_MODEL = "encoder_length_beyond_model"  # sequence_tokens, limit_tokens
    # Why an engine did not start, by its log.
    LOG_CACHE_BELOW_LENGTH = "log_cache_below_length"  # needed_bytes for one request, available_bytes
    LOG_NO_ROOM_FOR_CACHE = "log_no_room_for_cache"  # no param: weights and activations take the whole budget
    LOG_MEMORY_HELD_BY_OTHERS = "log_memory_held_by_others"  # needed_bytes, available_bytes, total_bytes
    LOG_WEIGHTS_NOT_ALLOCATED = "log_weights_not_allocated"  # needed_bytes
    LOG_CACHE_NOT_ALLOCATED = "log_cache_not_allocated"  # needed_bytes
    LOG_COMPUTE_NOT_ALLOCATED = "log_compute_not_allocated"  # needed_bytes
    LOG_OUT_OF_MEMORY = "log_out_of_memory"  # no param: an allocation failed
    LITTLE_MEASURED = "little_measured"  # engine, card
    PRICE_MAY_NOT_BE_AVAILABLE = "price_may_not_be_available"  # no param
    RANKS_DIFFER = "ranks_differ"  # cheapest_by_hour, cheapest_by_job: labels
    PRICES_OLD = "prices_old"  # age_days
    RANK_NOT_CERTAIN = "rank_not_certain"  # first, second: labels whose costs may be the other way round
    PRICE_READ_LATER = "price_read_later"  # as_of, priced_on
    PRICE_UNDATED = "price_undated"  # as_of: the last day on which it may have been read
    PRICE_IS_MARKET_MEDIAN = "price_is_market_median"  # no param
    UNUSED_SLICES = "unused_slices"  # unused, count of slices, profile: of the cards that are rented
    SMALLER_SLICE_TIGHT = "smaller_slice_tight"  # profile, missing_bytes at the high end
    UNUSED_GPUS = "unused_gpus"  # unused, gpus: of the machines that are rented
    EGRESS_PRICE_UNKNOWN = "egress_price_unknown"  # data_gb, per_gb_usd: of the upper end of the band
    STORAGE_PRICE_UNKNOWN = "storage_price_unknown"  # data_gb, per_gb_usd: of the upper end of the band
    PRICE_CURRENCY_ASSUMED = "price_currency_assumed"  # currency
    REPLICAS_NEEDED = "replicas_needed"  # replicas
    SERVICE_NEAR_CAPACITY = "service_near_capacity"  # busy_percent, limit_percent
    OWNED_AND_ALWAYS_BUSY = "owned_and_always_busy"  # no param
    BUY_NOT_COMPARED = "buy_not_compared"  # no param: no purchase price is known
    BOUGHT_WHOLE = "bought_whole"  # gpus of the machine, capex_usd, count of GPUs that the option rents
    SPOT_NOT_COMPARED = "spot_not_compared"  # no param: no spot price is known
    SETUP_PAID_ONCE = "setup_paid_once"  # setup_usd, counted in this month
    API_TIME_UNKNOWN = "api_time_unknown"  # no param
    CHEAPEST_TOO_LATE = "cheapest_too_late"  # label, other: the cheapest that ends in time
    NONE_IN_TIME = "none_in_time"  # no param
    CURRENCY_RATES_DIFFER = "currency_rates_differ"  # currency
    LEAD_TIME = "lead_time"  # weeks
    SPOT_THRASHES = "spot_thrashes"  # lost_percent, of the time worked
    DEADLINE_MISSED = "deadline_missed"  # wall_hours, deadline_hours
    DEADLINE_AT_RISK = "deadline_at_risk"  # wall_hours at the slow end, deadline_hours
    REPORT_SCALED = "report_scaled"  # tool, gpus of the report, count of the option
    REPORT_WITH_FAILURES = "report_with_failures"  # tool, failed: requests
    REPORT_OF_LAST_RUN = "report_of_last_run"  # tool, runs in the text
    REPORT_NOT_SATURATED = "report_not_saturated"  # tool, requests_per_second that were sent
    REPORT_OF_OTHER_LENGTHS = "report_of_other_lengths"  # tool, prompt_tokens, output_tokens, report_… of both
    MEASURED_OUTSIDE_PREDICTION = "measured_outside_prediction"  # measured, low, high: units per second
    CARD_LARGER_THAN_NEEDED = "card_larger_than_needed"  # card, cheaper_card, saved_usd_per_month, saved_percent
    # Which card. In brackets: params.
    SPOT_MAY_STOP = "spot_may_stop"  # no param
    WHO_CAN_COMPEL = "who_can_compel"  # country of the server, company_country
    PLACE_NOT_PUBLISHED = "place_not_published"  # field: server_country or company_country
    NETWORK_ASSUMED = "network_assumed"  # machines, network_gb_s
    CARD_DEARER_FOR_JOB = "card_dearer_for_job"  # card, cheaper_card, saved_usd, saved_percent
    QUANTISED_CHECKPOINT_NEEDED = "quantised_checkpoint_needed"  # format
    BEST_OF_ALL = "best_of_all"  # objective, count: forms that were tried
    ROOM_TO_SPARE = "room_to_spare"  # verdict, headroom_bytes
    COPIES_CARRY_LOAD = "copies_carry_load"  # replicas, requests at once in each
    QUANTISATION_COSTS_ACCURACY = "quantisation_costs_accuracy"  # format, low_percent, high_percent, source
    ACCURACY_NOT_MEASURED = "accuracy_not_measured"  # format
    KV_PRESSURE = "kv_pressure"  # kv_cache_bytes, share_percent of what the engine may fill
    DECODED_IN_TILES = "decoded_in_tiles"  # card
    SPEED_NOT_PREDICTED = "speed_not_predicted"  # card
    SERVER_IN_NINE_EYES = "server_in_nine_eyes"  # country
    ENGINE_NOT_ON_CARD = "engine_not_on_card"  # engine, card
    NO_OFFER_OF_CARD = "no_offer_of_card"  # card
    NO_OWN_OFFER_OF_CARD = "no_own_offer_of_card"  # card: only the offers of the request count
    CARD_FAILS_CONDITION = "card_fails_condition"  # card, field
    CARD_LACKS_FORMAT = "card_lacks_format"  # card, format: in which the model is published
    OFFERS_FAIL_CONDITION = "offers_fail_condition"  # card, field
    OFFERS_LACK_FACT = "offers_lack_fact"  # card, field
    OFFERS_WITHOUT_PRICE = "offers_without_price"  # card
    JOB_DOES_NOT_FIT_CARD = "job_does_not_fit_card"  # card, gpus, missing_bytes on each
    JOB_TIGHT_ON_CARD = "job_tight_on_card"  # card, gpus, missing_bytes on each at the high end
    CARD_TOO_SLOW = "card_too_slow"  # card
    OPTION_BREAKS_LIMIT = "option_breaks_limit"  # card, field, value: the least that it takes
    CARD_COSTS_MORE = "card_costs_more"  # card, least_usd_per_month, more_percent than the first option
    CARD_JOB_COSTS_MORE = (
        "card_job_costs_more"  # card, least_usd of the finished job, more_percent than the first option
    )
    CARD_BEATEN = "card_beaten"  # card
    CARD_RANKS_LOWER = "card_ranks_lower"  # card, objective
    SCALE_OUT_FIRST = "scale_out_first"  # replicas, card, other: the larger card, saved_usd_per_month
    SCALE_OUT_FOR_JOB = "scale_out_for_job"  # replicas, card, other, saved_usd
    LINK_NOT_NEEDED = "link_not_needed"  # card
    LINK_MATTERS = "link_matters"  # step_bytes, pcie_seconds, nvlink_seconds: of one decode step
    LINK_ONLY_PCIE = "link_only_pcie"  # step_bytes, pcie_seconds, step_seconds
    BANDWIDTH_DECIDES = "bandwidth_decides"  # card, share_percent of a step, memory_gb_s
    COMPUTE_DECIDES = "compute_decides"  # card, share_percent of a step that it takes, memory_gb_s
    NO_FP8 = "no_fp8"  # card
    FP8_SCALED = "fp8_scaled"  # card
    FP8_PLAIN = "fp8_plain"  # card
    LONG_RUN = "long_run"  # card, gpus, run_hours, failure_percent, ecc: yes, optional or no
    SLICES_FOR_TENANTS = "slices_for_tenants"  # card, mig, replicas, each_usd_per_month
    NO_BF16 = "no_bf16"  # card
    TRAINS_WITHOUT_BF16 = "trains_without_bf16"  # card
    PROFILE_AGREES = "profile_agrees"  # profile, card, other: the guides' card
    PROFILE_DIFFERS = "profile_differs"  # profile, card, other: the guides' card
    JOB_AGREES = "job_agrees"  # job, card, other: the guides' card
    JOB_DIFFERS = "job_differs"  # job, card, other: the guides' card
    GUIDES_CARD_BY_MONTH = "guides_card_by_month"  # other (the guides'), card, and of each …_usd_per_month
    GUIDES_CARD_BY_JOB = "guides_card_by_job"  # other (the guides'), card, and of each …_usd
    GUIDES_CARD_MISSES = "guides_card_misses"  # other (the guides')
    PRESET_USED = "preset_used"  # preset, fields: what it set, source, as_of
    MOVE_UP_FOR_MEMORY = "move_up_for_memory"  # card
    MOVE_UP_FOR_LATENCY = "move_up_for_latency"  # card
    MOVE_UP_FOR_TENANTS = "move_up_for_tenants"  # card
    RENT_BOTH = "rent_both"  # card, other
    COMMAND_LACKS_SETTINGS = "command_lacks_settings"  # settings: of the workload, that the command does not state
    LOAD_PER_TENANT = "load_per_tenant"  # replicas: tenants
    TIGHT_AT_LOAD = "tight_at_load"  # headroom_bytes
    GRADIENTS_OVER_PCIE = "gradients_over_pcie"  # card, count: in one machine
    KEEP_CHECKPOINTS_SAFE = "keep_checkpoints_safe"  # no param


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """Something the caller should know, in the caller's language."""

    code: NoticeCode
    severity: Severity
    message: Annotated[str, Meta(description="The notice in words.")] = ""
    params: Annotated[Params, Meta(description="The figures and names that the message speaks of.")] = {}


def notice(code: NoticeCode, severity: Severity, **params: Scalar | list[str]) -> Notice:
    """A notice without its message, with the params that its sentence speaks of."""
    return Notice(code=code, severity=severity, params=params)


class QuestionCode(StrEnum):
    """Every fact that an answer may ask for next. `text/` has one question per code and language."""

    MODEL = "model"
    CONTEXT_TOKENS = "context_tokens"
    MEAN_TOKENS_PER_REQUEST = "mean_tokens_per_request"
    CONCURRENCY = "concurrency"
    CARDS = "cards"
    ENGINE = "engine"
    WEIGHTS = "weights"
    LOAD = "load"
    TRAIN_TOKENS = "train_tokens"
    SEQUENCE_TOKENS = "sequence_tokens"
    MICRO_BATCH = "micro_batch"
    FRAMEWORK = "framework"
    PICTURE_SIZE = "picture_size"
    PICTURES = "pictures"
    DENOISE_STEPS = "denoise_steps"
    ITEMS = "items"
    TEXT_TOKENS = "text_tokens"
    AUDIO_SECONDS = "audio_seconds"
    BATCH = "batch"
    BILLING_INCREMENT_SECONDS = "billing_increment_seconds"
    EGRESS_USD_PER_GB = "egress_usd_per_gb"
    STORAGE_USD_PER_GB_MONTH = "storage_usd_per_gb_month"


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """The missing fact that would change the answer most."""

    code: QuestionCode
    pointer: Annotated[str, Meta(description="JSON Pointer (RFC 6901) of the field to fill in.")]
    message: Annotated[str, Meta(description="The question in words.")] = ""


class Assumption(msgspec.Struct, frozen=True, kw_only=True):
    """A default that was filled in for a field that the request left out."""

    pointer: Annotated[str, Meta(description="JSON Pointer (RFC 6901) of the field in the request.")]
    value: Annotated[Scalar, Meta(description="The value that was used.")]
    message: Annotated[str, Meta(description="The assumption in words.")] = ""
