"""Settings that check themselves: the fields of a dataclass are the schema of what it takes.

Types and ranges of models, samplers and moves are written once, as the annotations of their fields.
`Settings` checks them when an object is made; `schema` makes of them what an entry of the
configuration is checked by, before anything runs.
"""

import dataclasses
import re
import sys
from functools import cache
from numbers import Integral
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

Number = Annotated[float, Meta(ge=-1e9, le=1e9)]
Positive = Annotated[float, Meta(gt=0, le=sys.float_info.max)]
Noise = Annotated[Positive, Meta(title="noise")]  # the noise for privacy vanishes with it
Bound = Annotated[float, Meta(gt=0)]  # may be infinite
PerComponent = Positive | Annotated[list[Positive], Meta(min_length=1)]  # one for all, or d of them
Numbers = Annotated[list[Number], Meta(min_length=1)]
Positives = Annotated[list[Positive], Meta(min_length=1)]
Part = Annotated[float, Meta(ge=0, lt=1)]  # of a whole
Shares = Annotated[list[Annotated[float, Meta(gt=0, le=1)]], Meta(min_length=1)]  # of a whole
Count = Annotated[int, Meta(ge=1, le=10**9)]
Dimension = Annotated[int, Meta(ge=1, le=1000)]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Rows = Annotated[int, Meta(ge=2, le=10**9)]
Steps = Annotated[int, Meta(ge=1, le=100_000)]


class Settings:
    """Base of models, samplers and moves, which are frozen dataclasses.

    Numbers and arrays of NumPy become numbers and lists of Python, so that results do not depend on
    their types: a number of single precision would make others of single precision.

    Raises
    ------
    ValueError
        In one line that names the field, if a value is of another type or out of range.
    """

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field]]  # as every class has them

    def __post_init__(self) -> None:
        cls: type = type(self)
        for name, kind in annotations(cls).items():
            value = getattr(self, name)
            if isinstance(kind, type) and isinstance(value, kind):
                continue
            try:
                converted = msgspec.convert(plain(value), kind)
            except msgspec.ValidationError as error:
                problem = re.sub(", got .*", "", str(error).replace("`", ""))
                if get_origin(kind) is Literal:
                    problem = f"Expected one of {', '.join(get_args(kind))}"
                raise ValueError(
                    f"{type(self).__name__}.{name}: {problem}, not {in_short(value)}"
                ) from None
            if not is_plain(value) or isinstance(value, list):  # which its owner may change
                object.__setattr__(self, name, converted)
        for name, needed in precomputed(cls).items():
            if not isinstance(getattr(self, name), needed | None):
                what = in_short(getattr(self, name))
                raise ValueError(
                    f"{type(self).__name__}.{name}: Expected {needed.__name__}, not {what}"
                )
        self.check()

    def check_dimension(self, dimension: int) -> None:
        """Raise a ValueError for a list of a number for each component that has not d of them."""
        cls: type = type(self)
        for name, kind in annotations(cls).items():
            value = getattr(self, name)
            if kind == PerComponent and isinstance(value, list) and len(value) != dimension:
                raise ValueError(
                    f"{name}: must be a number or a list of dimension = {dimension} numbers, "
                    f"not {len(value)}"
                )

    def check(self) -> None:
        """Raise a ValueError, "field: what it must be, not what it is", for fields that clash."""


def plain(value: Any) -> Any:
    """Numbers and arrays of NumPy as those of Python."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return [plain(entry) for entry in value] if isinstance(value, list | tuple) else value


def is_plain(value: object) -> bool:
    """True if a value is what a configuration can hold already."""
    if type(value) is list:
        return all(map(is_plain, value))
    return value is None or type(value) in (bool, int, float, str)


def in_short(value: object) -> str:
    """A value in a message, which is one line and no page."""
    text = " ".join(repr(value).split())
    return text if len(text) < 200 else f"{text[:200]}..."


def check_object(name: str, value: object, base: type, example: str) -> None:
    """Raise a ValueError for what is no object of a base; the message has an example of one."""
    if not isinstance(value, base):
        what = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
        raise ValueError(f"{name}: must be an object such as dpmcmc.{example}, not {what}")


def check_count(name: str, value: Any, least: int) -> None:
    """Raise a ValueError for what is no whole number of at least so many."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}: must be a whole number of at least {least}, not {value!r}")


@cache
def annotations(cls: type) -> dict[str, Any]:
    """Types of the fields that are settings, by name; not those that are computed beside them."""
    hints = get_type_hints(cls, include_extras=True)
    return {
        f.name: hints[f.name] for f in dataclasses.fields(cls) if "precomputed" not in f.metadata
    }


@cache
def precomputed(cls: type) -> dict[str, type]:
    """Classes of what a sampler needs beside its settings, by field.

    Such a field is declared as `field(default=None, metadata={"precomputed": Class})`. The workflow
    calls `Class.compute()` once a study and gives every chain the result.
    """
    fields = dataclasses.fields(cls)
    return {f.name: f.metadata["precomputed"] for f in fields if "precomputed" in f.metadata}


@cache
def schema(*classes: type) -> type[msgspec.Struct]:
    """A msgspec Struct of the settings of classes: what an entry of the configuration may hold.

    Parameters
    ----------
    *classes : type
        Dataclasses that derive from `Settings`: a model, or a sampler and its move.
    """
    fields = {f.name: f for cls in classes for f in dataclasses.fields(cls)}
    kinds = {name: kind for cls in classes for name, kind in annotations(cls).items()}
    if len(classes) > 1:
        kinds.pop("move")  # the other class
    has_default = {
        name: not fields[name].default is fields[name].default_factory is dataclasses.MISSING
        for name in kinds
    }
    return msgspec.defstruct(
        classes[0].__name__,
        [(name, kind, *[None] * has_default[name]) for name, kind in kinds.items()],
        kw_only=True,
        forbid_unknown_fields=True,
    )
