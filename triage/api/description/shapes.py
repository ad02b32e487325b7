"""Shapes of answers, derived from the dataclasses that are sent.

A shape is the wire form of a dataclass (:mod:`triage.domain.wire`) or the keys of a TypedDict.
:func:`make_shape` adds keys to one, or says more exactly what one holds; :func:`select_keys` takes
some; :func:`page` is a page of a list. Pydantic makes JSON schema of them.
"""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Final, NotRequired, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.json_schema import models_json_schema

from triage.domain.patterns import compile_re
from triage.domain.wire import Keywords, SentAs, list_notes, list_wire_fields

_Hint = Any  # a type, or what typing makes of types
_REF: Final = "#/components/schemas/{model}"
_ROLE: Final = compile_re(r":\w+:`~?(?:[\w.]*\.)?(\w+)`")
# Names of types, which a reader of the description does not know.
_SUFFIX: Final = "View"


@dataclass(frozen=True, eq=False)
class AnswerShape:
    """A named JSON object: key -> type. It is what it is: two are never equal."""

    name: str
    doc: str
    hints: Mapping[str, _Hint]
    is_page: bool = False


Source = type | AnswerShape


def make_shape(name: str, *sources: Source, doc: str = "", **hints: _Hint) -> AnswerShape:
    """The keys of all ``sources``, and ``hints`` beside or instead of them."""
    keys = {key: hint for source in sources for key, hint in _get_hints(source).items()}
    return AnswerShape(name, doc or _get_doc(sources[-1]), {**keys, **hints})


def select_keys(name: str, doc: str, source: Source, keys: Iterable[str]) -> AnswerShape:
    """Some keys of a shape."""
    hints = _get_hints(source)
    return AnswerShape(name, doc, {key: hints[key] for key in keys})


def page(item: Source, of_what: str) -> AnswerShape:
    """A page of a list of this shape; ``of_what`` names its items in words."""
    hints = {"next_cursor": str | None, "items": list[item]}  # type: ignore[valid-type]
    return AnswerShape(
        f"{make_component_name(item)}Page", f"One page of {of_what}.", hints, is_page=True
    )


def make_component_name(source: Source) -> str:
    """The name of a shape among the components of the description."""
    return source.name if isinstance(source, AnswerShape) else source.__name__.removesuffix(_SUFFIX)


def _get_doc(source: Source) -> str:
    """What a shape says of itself, in Markdown."""
    doc = source.doc if isinstance(source, AnswerShape) else inspect.getdoc(source) or ""
    return _ROLE.sub(r"`\1`", doc).replace("``", "`")


def _get_hints(source: Source) -> Mapping[str, _Hint]:
    if isinstance(source, AnswerShape):
        return source.hints
    if is_dataclass(source):
        return {one.key: one.hint for one in list_wire_fields(source)}
    return get_type_hints(source, include_extras=True)


def make_schemas(sources: Iterable[Source]) -> dict[str, Any]:
    """JSON schemas of shapes, and of all that they hold, by name."""
    models = Models()
    wanted = [(models.of(source), "serialization") for source in dict.fromkeys(sources)]
    _, schemas = models_json_schema(wanted, ref_template=_REF, by_alias=True)  # type: ignore[arg-type]
    return dict(schemas["$defs"])


class Models:
    """One pydantic model for each shape. Raises ValueError where two have one name."""

    def __init__(self) -> None:
        self.made: dict[Source, type[BaseModel]] = {}

    def of(self, source: Source) -> type[BaseModel]:
        """The model of a shape: all keys are sent, and later releases may add more."""
        if source in self.made:
            return self.made[source]
        name = make_component_name(source)
        if name in {model.__name__ for model in self.made.values()}:
            raise ValueError(f"two shapes are called {name}")
        fields: dict[str, Any] = {
            # A prefix, since a key may be a word of Python or of pydantic.
            f"key_{key}": self.field(key, hint)
            for key, hint in _get_hints(source).items()
        }
        model: type[BaseModel] = create_model(
            name, __config__=ConfigDict(extra="allow"), __doc__=_get_doc(source), **fields
        )
        self.made[source] = model
        return model

    def field(self, key: str, hint: _Hint) -> tuple[_Hint, Any]:
        """Type and default of a key."""
        origin: _Hint = get_origin(hint)
        if origin is NotRequired:
            return self.typed(get_args(hint)[0]), Field(None, alias=key)
        return self.typed(hint), Field(alias=key)

    def typed(self, hint: _Hint) -> _Hint:
        """The type with models instead of dataclasses, and what it says of itself as schema."""
        notes = list_notes(hint)
        for note in notes:
            if isinstance(note, SentAs):
                others = tuple(other for other in notes if other is not note)
                return self.typed(Annotated[note.form, *others] if others else note.form)
        if notes:
            text = next((note for note in notes if isinstance(note, str)), None)
            keywords: dict[str, Any] = {}
            for note in notes:
                if isinstance(note, Keywords):
                    keywords.update(note.keywords)
            described = Field(description=text, json_schema_extra=keywords or None)
            return Annotated[self.typed(get_args(hint)[0]), described]
        if isinstance(hint, AnswerShape) or is_dataclass(hint) or hasattr(hint, "__total__"):
            return self.of(hint)
        origin: _Hint = get_origin(hint)
        inner = get_args(hint)
        if origin in (Union, UnionType):
            return reduce(or_, [self.typed(one) for one in inner])
        if origin is None or not inner or inner[0] is NoneType or isinstance(inner[0], str):
            return hint
        return origin[tuple(one if one is ... else self.typed(one) for one in inner)]
