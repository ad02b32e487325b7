"""Schemas: what tools take and give, in few bytes.

A client puts the list of tools before the first question of every conversation. So a schema says
what a model cannot know, and leaves the rest to the answer itself.
"""

from typing import Any, Final

from pydantic import BaseModel

__all__ = ["input_schema", "output_schema"]

Json = dict[str, Any]
NULL: Final[Json] = {"type": "null"}


def input_schema(takes: type[BaseModel]) -> Json:
    """The whole schema of the arguments, without what repeats their names."""
    schema = takes.model_json_schema()
    return bare(schema, schema.pop("$defs", {}))


def bare(schema: Json, shared: Json) -> Json:
    """A schema with ``shared`` definitions in their places, without titles and defaults of null.

    An argument that may be left out need not be sent as null, so null is not listed.
    """
    if "$ref" in schema:
        schema = shared[schema["$ref"].rpartition("/")[2]]
    either = [one for one in schema.get("anyOf", ()) if one != NULL]
    if len(either) == 1:
        schema = {**either[0], **schema}
        del schema["anyOf"]
    left_out = {"title", *(["description"] if "properties" in schema else [])}
    kept = {k: v for k, v in schema.items() if k not in left_out and (k, v) != ("default", None)}
    if "items" in kept:
        kept["items"] = bare(kept["items"], shared)
    if "properties" in kept:
        kept["properties"] = {k: bare(v, shared) for k, v in kept["properties"].items()}
    return kept


def output_schema(gives: type[BaseModel]) -> Json:
    """The fields of an answer that its names alone do not explain, one level deep."""
    properties = gives.model_json_schema(mode="serialization")["properties"]
    return {
        "type": "object",
        "properties": {
            name: {"type": types_of(properties[name]), "description": one.description}
            for name, one in gives.model_fields.items()
            if one.description
        },
    }


def types_of(schema: Json) -> str | list[str]:
    """The JSON types of a field; one that refers to a model is an object."""
    types = [one.get("type", "object") for one in schema.get("anyOf", [schema])]
    return types[0] if len(types) == 1 else types
