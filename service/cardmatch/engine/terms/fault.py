"""What is wrong with a request: a code, where, and what would be right. Words come from the `text` room."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from cardmatch.engine.terms.notice import Params, Scalar


class FaultCode(StrEnum):
    """Every reason for refusing a request. `text/` has one sentence per code and language."""

    HEADS_NOT_DIVISIBLE = "heads_not_divisible"  # tensor, heads, known: the sizes that divide
    # How a job is laid out. In brackets: params.
    LAYOUT_NOT_COUNT = "layout_not_count"  # gpus that the layout takes, count
    LAYOUT_PART_TOO_LARGE = "layout_part_too_large"  # part: expert or decode_context, ranks, limit
    MORE_STAGES_THAN_LAYERS = "more_stages_than_layers"  # pipeline, layers
    MIG_NOT_SUPPORTED = "mig_not_supported"  # card
    MIG_ON_STATED_MEMORY = "mig_on_stated_memory"  # no param
    MIG_OVER_SEVERAL = "mig_over_several"  # card: partitions have no links between them
    CARD_MEMORY_UNKNOWN = "card_memory_unknown"  # card: what engines see of it was never published
    # How long requests are. In brackets: params.
    MEAN_BEYOND_CONTEXT = "mean_beyond_context"  # mean_tokens, context_tokens
    PREFIX_BEYOND_REQUEST = "prefix_beyond_request"  # prefix_tokens, mean_tokens
    # The shape of a request, found while it is decoded. In brackets: params.
    WRONG_TYPE = "wrong_type"  # expected: names of JSON types (string, integer, …), got: one of them
    MISSING_FIELD = "missing_field"  # field
    UNKNOWN_FIELD = "unknown_field"  # field, known: the fields that are
    WRONG_VALUE = "wrong_value"  # value, known: the values that are
    TOO_SMALL = "too_small"  # minimum, the least allowed
    TOO_LARGE = "too_large"  # maximum, the greatest allowed
    NOT_ABOVE = "not_above"  # limit, to be exceeded
    NOT_BELOW = "not_below"  # limit, to be stayed under
    NUMBER_OUT_OF_RANGE = "number_out_of_range"  # no param: more than a double or a 64-bit integer holds
    NOT_A_MULTIPLE = "not_a_multiple"  # multiple
    TEXT_TOO_SHORT = "text_too_short"  # minimum, in characters
    TEXT_TOO_LONG = "text_too_long"  # maximum, in characters
    TOO_FEW_ITEMS = "too_few_items"  # minimum
    TOO_MANY_ITEMS = "too_many_items"  # maximum
    WRONG_PATTERN = "wrong_pattern"  # pattern, a regular expression
    WRONG_FORMAT = "wrong_format"  # format: date, date-time, uuid, …
    # Names of cards; the suggestions are what could be meant. In brackets: params.
    UNKNOWN_CARD = "unknown_card"  # name
    AMBIGUOUS_CARD = "ambiguous_card"  # name
    CARD_NOT_LISTED = "card_not_listed"  # name: of a card that exists, but without a row in the catalogue
    CARD_MEMORY_CONFLICT = "card_memory_conflict"  # name: of a card that has another memory size than was said
    UNKNOWN_MIG_PROFILE = "unknown_mig_profile"  # name, card
    # Choices of cards and how a model is spread over them.
    LINK_NOT_AVAILABLE = "link_not_available"  # card, link
    OCCUPIED_BEYOND_MEMORY = "occupied_beyond_memory"  # occupied_bytes, memory_bytes
    # Names and descriptions of models.
    UNKNOWN_MODEL = "unknown_model"  # name
    AMBIGUOUS_MODEL = "ambiguous_model"  # name
    UNKNOWN_PIPELINE = "unknown_pipeline"  # name
    UNKNOWN_ARCHITECTURE = "unknown_architecture"  # architecture: its name, or a model type
    CONTRADICTION = "contradiction"  # value, expected, other: pointer of the key that requires what is expected
    NOT_DIVISIBLE = "not_divisible"  # value, divisor, other: pointer of the key that holds the divisor
    MODEL_TOO_LARGE = "model_too_large"  # parameters, max_parameters
    QUANTIZATION_UNKNOWN = "quantization_unknown"  # value: the method that config.json names
    GGUF_KEY_MISSING = "gguf_key_missing"  # field
    PIPELINE_ELSEWHERE = "pipeline_elsewhere"  # name: of an image or video pipeline, where a model was wanted
    WRONG_KIND_OF_MODEL = "wrong_kind_of_model"  # model_kind, workload, fitting: workload of such models
    # Fields that do not go together.
    EXACTLY_ONE_OF = "exactly_one_of"  # fields
    AT_MOST_ONE_OF = "at_most_one_of"  # fields
    NEEDS_FIELD = "needs_field"  # field
    CONFLICTS_WITH = "conflicts_with"  # field
    ABOVE_OTHER_FIELD = "above_other_field"  # field, maximum: its value
    NOT_WITH_ENGINE = "not_with_engine"  # engine, value
    NOT_WITH_CARD = "not_with_card"  # engine, value, card, needed: compute capability
    NOT_WITH_MODEL = "not_with_model"  # value
    ENGINE_VERSION_UNKNOWN = "engine_version_unknown"  # engine, value, known
    ARGUMENT_UNKNOWN = "argument_unknown"  # argument, engine
    ARGUMENT_WITHOUT_VALUE = "argument_without_value"  # argument
    ARGUMENT_WRONG_VALUE = "argument_wrong_value"  # argument, value
    LOG_NOT_READ = "log_not_read"  # no param: nothing in the text looks like the log of an engine
    LOG_OF_OTHER_ENGINE = "log_of_other_engine"  # engine that was named; the suggestion is whose log it is
    # Catalogue and prices.
    CATALOGUE_GONE = "catalogue_gone"  # value: the version, known: those that are kept
    UNKNOWN_OFFER = "unknown_offer"  # name
    UNKNOWN_PROVIDER = "unknown_provider"  # name
    UNKNOWN_COUNTRY = "unknown_country"  # country: a code that the catalogue has no row for
    WRONG_CURSOR = "wrong_cursor"  # no param: not a cursor of this listing

    # What work costs.
    OFFER_EXPIRED = "offer_expired"  # name, valid_until, priced_on
    OFFER_NOT_YET_VALID = "offer_not_yet_valid"  # name, valid_from, priced_on
    OFFER_WITHOUT_PRICE = "offer_without_price"  # name
    OFFER_IN_OTHER_CURRENCY = "offer_in_other_currency"  # name, currency
    OFFER_OF_OTHER_CARD = "offer_of_other_card"  # name, card that was named, known: what the offer may be
    ONLY_SPOT = "only_spot"  # no param: the offer has no price on demand
    SPOT_PRICE_UNKNOWN = "spot_price_unknown"  # no param
    PURCHASE_PRICE_UNKNOWN = "purchase_price_unknown"  # no param
    PURCHASE_POWER_UNKNOWN = "purchase_power_unknown"  # no param
    THROUGHPUT_MISSING = "throughput_missing"  # no param
    THROUGHPUT_NOT_PREDICTED = "throughput_not_predicted"  # no param
    MODEL_DOES_NOT_FIT = "model_does_not_fit"  # card, count: on which no layout holds it
    UNIT_OF_OTHER_WORK = "unit_of_other_work"  # unit, work_unit
    UNIT_NOT_OF_WORKLOAD = "unit_not_of_workload"  # workload, unit of the work, has: the units that it is counted in
    UNIT_NOT_SOLD = "unit_not_sold"  # unit
    REQUEST_LENGTHS_MISSING = "request_lengths_missing"  # no param
    LOAD_OF_SERVICE_MISSING = "load_of_service_missing"  # no param: nothing says how many units an API would serve
    COST_OUT_OF_REACH = "cost_out_of_reach"  # no param: more dollars, hours or machines than there are
    SWEEP_OUT_OF_BOUNDS = "sweep_out_of_bounds"  # field: the parameter, minimum, maximum
    TIER_WITHOUT_END = "tier_without_end"  # no param: others follow it
    SWEEP_WITHOUT_EFFECT = "sweep_without_effect"  # field: the parameter, which moves no option's cost
    DOLLAR_IS_ONE = "dollar_is_one"  # no param
    ONLY_FOR_SERVICES = "only_for_services"  # field
    OPTION_OF_OTHER_KIND = "option_of_other_kind"  # kind: of the workload, known: what the option goes with
    ONLY_FOR_JOBS = "only_for_jobs"  # field
    LABEL_TWICE = "label_twice"  # name
    # Reports of benchmark tools. In brackets: params.
    REPORT_NOT_READ = "report_not_read"  # tool: nothing in the text looks like its output
    REPORT_OF_OTHER_TOOL = "report_of_other_tool"  # tool that was named; the suggestions are whose report it is
    REPORT_OF_SEVERAL_RUNS = "report_of_several_runs"  # tool, what: model or row, of which there are several
    REPORT_LACKS_UNIT = "report_lacks_unit"  # tool, unit that is asked for, has: the units that it counts
    # Training. In brackets: params.
    LORA_TARGET_NOT_IN_MODEL = "lora_target_not_in_model"  # target, known: names of matrices that the model has
    LORA_WITHOUT_LORA_METHOD = "lora_without_lora_method"  # method
    SHARDING_ON_ONE_CARD = "sharding_on_one_card"  # sharding, card
    QUANTISED_WEIGHTS_NOT_TRAINABLE = "quantised_weights_not_trainable"  # weights, known: formats that are
    # Making images. In brackets: params.
    QUANTISED_DENOISER_NOT_TRAINABLE = "quantised_denoiser_not_trainable"  # weights, known: formats that are
    FRAMES_OF_IMAGE_MODEL = "frames_of_image_model"  # maximum
    BATCH_BEYOND_REASON = "batch_beyond_reason"  # limit_bytes: more than any GPU will ever hold
    NO_DENOISER = "no_denoiser"  # no param: nothing in the pipeline makes pictures
    FIELD_OF_OTHER_TASK = "field_of_other_task"  # task: of the request, tasks: that the field belongs to
    ONE_GPU_A_COPY = "one_gpu_a_copy"  # workload, count: of GPUs, each of which runs a copy of its own
    CLASS_UNKNOWN = "class_unknown"  # name: of the class of a component
    COMPONENT_UNKNOWN = "component_unknown"  # name: whose role does not show, known: those that do
    # Encoding. In brackets: params.
    TASK_OF_OTHER_MODEL = "task_of_other_model"  # task, model_kind: the model type


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong with a request."""

    code: FaultCode
    pointer: str
    params: Params = {}
    suggestions: tuple[str, ...] = ()


class Invalid(Exception):  # noqa: N818 - it reads as a statement about the request: `raise Invalid(fault)`
    """The request cannot be answered; *faults* say why, each with a JSON pointer relative to the value judged."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__(", ".join(f"{fault.pointer}: {fault.code}" for fault in faults))
        self.faults = faults

    def under(self, prefix: str) -> Invalid:
        """The same faults, with *prefix* before each pointer."""
        return Invalid(*(msgspec.structs.replace(fault, pointer=prefix + fault.pointer) for fault in self.faults))

    def moved(self, prefix: str, to: str) -> Invalid:
        """The same faults, with *to* in the place of *prefix* at the beginning of each pointer."""
        return Invalid(
            *(msgspec.structs.replace(each, pointer=to + each.pointer.removeprefix(prefix)) for each in self.faults)
        )


def refusal(code: FaultCode, pointer: str, **params: Scalar | list[str]) -> Invalid:
    """An Invalid with one fault: *code* at *pointer*, with the params that its sentence speaks of."""
    return Invalid(Fault(code=code, pointer=pointer, params=params))
