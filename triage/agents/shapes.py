"""Shapes: what the tools take, as models that make the JSON schemas."""

from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, model_validator

MAX_FILES: Final = 8
MAX_TEXT_BYTES: Final = 256 << 10
"""Of all texts that are given in one call together."""


def _shorten(schema: dict[str, Any]) -> None:
    """A client puts the list of tools before the first question of every conversation, so a schema
    says what a model cannot know: no titles, no docstrings, no null for what may be left out.
    """
    for key in ("title", "description"):
        schema.pop(key, None)
    for field in schema["properties"].values():
        field.pop("title", None)
        if field.get("default", 0) is None:
            del field["default"]


class Strict(BaseModel):
    """Takes its fields and no others, each in its own type."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra=_shorten)


_AskedName = Annotated[str, Field(min_length=1, max_length=256)]
# Null says that it is left out.
_LeftOut = Annotated[
    _AskedName | None, WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 256})
]


class OfJob(Strict):
    """Which failure is meant: one of the two."""

    job_id: _LeftOut = Field(
        None, description="The scheduler's id, for its newest failure; this or incident_id."
    )
    incident_id: _LeftOut = Field(None, description="The id that another answer gave.")
    cluster: _LeftOut = Field(None, description="Of job_id, where several clusters have it.")

    @model_validator(mode="after")
    def check_one_of_them(self) -> Self:
        """Raises ``ValueError`` for both and for neither."""
        if (self.job_id is None) == (self.incident_id is None):
            raise ValueError("give either job_id or incident_id")
        return self


class OfIncident(OfJob):
    """The node of an incident."""

    node: _AskedName = Field(description="As the answer about the job names it.")


class OfNode(Strict):
    """A node over all incidents."""

    node: _AskedName = Field(description="As the scheduler names it.")


class OfFleet(Strict):
    """A period that ends now."""

    days: Annotated[int, Field(ge=1, le=3650)] = 30
    cluster: _LeftOut = None


class OfPaths(Strict):
    """Files on this machine, all of one incident."""

    paths: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00]+$")]],
        Field(min_length=1, max_length=64, description="Folders, files or tar archives."),
    ]


_Name = Annotated[str, Field(max_length=128, pattern=r"^[A-Za-z0-9._/-]+$")]
_Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT_BYTES)]


class OfFiles(Strict):
    """Texts that are sent along, all of one incident, 256 KiB together."""

    files: dict[_Name, _Text] = Field(
        min_length=1,
        max_length=MAX_FILES,
        description="Texts by name, like nodes/n3/kernel.log: the folder says of which node.",
    )
