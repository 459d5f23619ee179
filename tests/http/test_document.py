"""The OpenAPI document says what the service does."""

from __future__ import annotations

from typing import Annotated, Any

import jsonschema
import msgspec
import pytest
from msgspec import Meta

from cardmatch.http.document import document
from cardmatch.http.door import Door
from cardmatch.http.operation import Operation
from cardmatch.http.schema import named_maps
from tests.http.asking import ask, post
from tests.http.sample import ASK, SHOW, Snapshot


@pytest.fixture(scope="module")
def served(sample: Door) -> dict[str, Any]:
    """The document as it is served."""
    response = ask(sample, "GET", "/openapi.json")
    assert response.headers["content-type"] == "application/json"
    found: dict[str, Any] = response.json()
    return found


def test_the_served_document_is_the_one_that_is_made(served: dict[str, Any]) -> None:
    """One function makes the document, for the service and for the repository."""
    assert served == msgspec.json.decode(msgspec.json.encode(document((ASK, SHOW))))
    assert served["openapi"] == "3.1.0"


def test_what_makes_a_type_strict_is_in_the_document(served: dict[str, Any]) -> None:
    """Unknown fields, bounds of items, tags, descriptions and defaults are what frameworks lose."""
    schemas = served["components"]["schemas"]
    question = schemas["Question"]
    assert question["additionalProperties"] is False
    assert question["description"] == "Every shape of field."
    assert question["required"] == ["model"]
    assert question["properties"]["tags"] == {
        "type": "array",
        "items": {"type": "string", "maxLength": 3},
        "maxItems": 2,
        "default": [],
    }
    assert question["properties"]["counts"]["additionalProperties"] == {"type": "integer", "minimum": 0, "maximum": 9}
    tagged = question["properties"]["model"]["anyOf"][1]
    mapping = {"id": "#/components/schemas/ById", "shape": "#/components/schemas/ByShape"}
    assert tagged["discriminator"] == {"propertyName": "kind", "mapping": mapping}
    kind = schemas["ById"]["properties"]["kind"]
    assert (kind["type"], kind["const"]) == ("string", "id")
    assert "default" not in schemas["Format"]


def test_every_component_is_used_and_every_reference_resolves(served: dict[str, Any]) -> None:
    """Nothing hangs loose in either direction."""
    mapped = {value for mapping in _all(served, "mapping") for value in mapping.values()}
    references = mapped.union(_all(served, "$ref"))
    parts = served["components"]
    components = {f"#/components/{kind}/{name}" for kind in ("schemas", "responses") for name in parts[kind]}
    assert references == components
    asked = {name for way in served["security"] for name in way}
    assert asked == set(parts["securitySchemes"])


def _all(node: Any, key: str) -> list[Any]:
    if isinstance(node, dict):
        here = [node[key]] if key in node and isinstance(node[key], str if key == "$ref" else dict) else []
        return here + [found for value in node.values() for found in _all(value, key)]
    return [found for value in node for found in _all(value, key)] if isinstance(node, list) else []


def test_parameters_have_their_bounds(served: dict[str, Any]) -> None:
    """What a GET enforces is what is documented: bounds, defaults, and no null, which no query can hold."""
    get = served["paths"]["/things/{thing_id}"]["get"]
    parameters = {parameter["name"]: parameter for parameter in get["parameters"]}
    assert parameters["thing_id"]["in"] == "path"
    assert parameters["thing_id"]["required"] is True
    assert parameters["limit"] == {
        "name": "limit",
        "in": "query",
        "required": False,
        "description": "How many.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 10, "default": 5},
    }
    assert parameters["exact"]["schema"] == {"type": "boolean"}
    assert parameters["language"]["schema"] == {"$ref": "#/components/schemas/Language"}
    assert {"200", "304", "400", "401", "404", "422", "429", "500", "503"} == set(get["responses"])


def test_errors_are_documented_as_problems(served: dict[str, Any]) -> None:
    """Every error that an operation can give is listed, with the media type that it comes in."""
    assert set(served["paths"]["/ask"]["post"]["responses"]) == {
        "200",
        "400",
        "401",
        "408",
        "413",
        "415",
        "422",
        "429",
        "500",
        "503",
    }
    for response in served["components"]["responses"].values():
        assert list(response["content"]) == ["application/problem+json"]


def test_answers_and_problems_fit_their_schemas(sample: Door, served: dict[str, Any]) -> None:
    """What comes back is what the document promises."""
    for body, name in (({"model": "a"}, "Reply"), ({"model": 1}, "Problem"), ({"formt": 1}, "Problem")):
        schema = {"$ref": f"#/components/schemas/{name}", "components": served["components"]}
        jsonschema.validate(post(sample, body).json(), schema)


def test_generators_of_clients_can_read_every_type(served: dict[str, Any]) -> None:
    """Words have a type, lists have items, and no default is an object: some generators refuse each."""
    question = served["components"]["schemas"]["Question"]["properties"]
    assert served["components"]["schemas"]["Format"]["type"] == "string"
    pair = question["pair"]["anyOf"][0]
    assert pair == {
        "type": "array",
        "minItems": 2,
        "maxItems": 2,
        "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    }
    assert "default" not in question["counts"]
    assert question["config"]["anyOf"][0] == {"$ref": "#/components/schemas/JsonObject"}
    assert served["components"]["schemas"]["JsonObject"]["additionalProperties"] is True


def test_a_map_that_may_be_null_has_a_name() -> None:
    """Generators would otherwise name its type by the place among the alternatives."""
    count = {"type": "object", "additionalProperties": {"type": "integer"}}
    given = {"properties": {"by_dtype": {"description": "Elements.", "anyOf": [count, {"type": "null"}]}}}
    named = named_maps("Counts", given)
    assert named["Counts"]["properties"]["by_dtype"]["anyOf"][0] == {"$ref": "#/components/schemas/CountsByDtype"}
    assert named["CountsByDtype"] == {"title": "CountsByDtype", "description": "Elements.", **count}


def test_answers_always_have_every_field(served: dict[str, Any]) -> None:
    """A client need not ask whether a field of an answer is there; of a request most may be left out."""
    schemas = served["components"]["schemas"]
    assert schemas["Reply"]["required"] == list(schemas["Reply"]["properties"])
    assert schemas["Question"]["required"] == ["model"]
    assert "errors" not in schemas["Problem"]["required"], "what is empty is left out of a problem"


def test_a_frozen_struct_with_a_list_default_is_documented() -> None:
    """A default that cannot be hashed must not stop the document."""

    class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
        names: Annotated[list[str], Meta(max_length=3)] = msgspec.field(default_factory=lambda: ["a"])
        language: None = None

    operation = Operation(
        method="POST", path="/x", name="x", tag="x", summary="x", description="x", takes=Request, gives=Request,
        answer=lambda _, request, __: request,
    )  # fmt: skip
    names = document((operation,))["components"]["schemas"]["Request"]["properties"]["names"]
    assert names["maxItems"] == 3


def test_the_catalogue_is_not_asked_for_the_document() -> None:
    """The document depends on the release alone."""
    assert document((ASK, SHOW)) == document((ASK, SHOW))
    assert Snapshot().version not in str(document((ASK, SHOW)))
