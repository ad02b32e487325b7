"""Everything that triage raises on purpose.

::

    TriageError
    ├── UsageError               the call itself is wrong: path, option, kind of fault
    ├── NothingToAnalyze         not one readable input among the paths given
    ├── NotYet                   an incident was not answered in the time given
    ├── ArtifactError            about the bytes of one file
    │   ├── UnknownFormat        no reader claims it
    │   ├── Corrupt              claimed, but unreadable; says where
    │   └── Forbidden            asks for more than plain data, or exceeds a limit
    └── Refusal                  a request is answered with no; says what to do    HTTP status
        ├── BadRequest           not what HTTP or the body's form allows           400
        ├── NoToken              no token, or one that is not known                401
        ├── NotAllowed           the token's scopes do not reach so far            403
        ├── NotFound             no such thing                                     404
        ├── Conflict             not in this state                                 409
        ├── Gone                 erased on request, and not taken again            410
        ├── TooLarge             beyond a limit                                    413
        ├── Unsupported          an encoding or media type that is not read        415
        ├── Unprocessable        understood, and wrong                             422
        ├── TooMany              too often; again after ``retry_after_s``          429
        ├── Unavailable          database, blob store or broker: try again         503
        └── StorageFull          no room; nothing was kept                         507

Bad input is data, not a bug: an :class:`ArtifactError` refuses one file and is
listed under the report's coverage; the other files go on.
"""

from dataclasses import dataclass
from typing import ClassVar


class TriageError(Exception):
    """Base of every error that triage raises on purpose."""


class UsageError(TriageError):
    """The call is wrong; the message says what to give instead."""


class NothingToAnalyze(TriageError):
    """Not one input could be read; the message says why, and what to give."""


class NotYet(TriageError):
    """What was waited for did not come in the time given; the message says how it stands."""


class UnreadableModel(TriageError):
    """A file is no model of lines that this version can use; the message says why."""


class ArtifactError(TriageError):
    """One file is refused.

    ``why`` is a clause that stands alone ("entry 12: ..."); ``offset`` is the
    byte in the decompressed file where reading stopped, when one is known.
    """

    def __init__(self, why: str, *, offset: int | None = None) -> None:
        super().__init__(why if offset is None else f"{why} (at byte {offset:,})")
        self.why = why
        self.offset = offset


class UnknownFormat(ArtifactError):
    """No reader claims the file."""


class Corrupt(ArtifactError):
    """A reader claims the file but cannot read it."""


class Forbidden(ArtifactError):
    """The file asks for more than plain data, or exceeds a limit."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a request something is wrong: ``query/rank``, ``body/3/message``."""

    where: str
    message: str


class Refusal(TriageError):
    """A request is answered with no.

    ``detail`` says what is wrong with this request, ``hint`` what to do next, ``places``
    where in it. ``retry_after_s`` is set where the same request may succeed later.
    """

    status: ClassVar[int] = 500
    title: ClassVar[str] = "Refused"
    retry_after_s: int | None = None
    part: str = ""
    """What of our surroundings does not answer: "the database", "the blob store"."""

    def __init__(
        self,
        detail: str,
        *,
        hint: str = "",
        places: tuple[Place, ...] = (),
        retry_after_s: int | None = None,
        part: str = "",
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint
        self.places = places
        self.part = part or self.part
        if retry_after_s is not None:
            self.retry_after_s = retry_after_s


class BadRequest(Refusal):
    """The request is not what HTTP, or the form of its body, allows."""

    status = 400
    title = "Bad request"


class NoToken(Refusal):
    """No token came, or one that is not known, or no longer valid."""

    status = 401
    title = "Token needed"


class NotAllowed(Refusal):
    """The token is good, its scopes do not reach so far."""

    status = 403
    title = "Not allowed"


class NotFound(Refusal):
    """There is no such thing."""

    status = 404
    title = "Not found"


class Conflict(Refusal):
    """The thing is not in a state in which this can be done."""

    status = 409
    title = "Conflict"


class Gone(Refusal):
    """It was erased on request: it is not there, and is not taken again."""

    status = 410
    title = "Gone"


class TooLarge(Refusal):
    """More bytes, files or depth than are taken."""

    status = 413
    title = "Too large"


class Unsupported(Refusal):
    """An encoding or a media type that is not read."""

    status = 415
    title = "Unsupported"


class Unprocessable(Refusal):
    """Understood, and wrong: a value, a field, the bytes."""

    status = 422
    title = "Cannot be processed"


class TooMany(Refusal):
    """Too many requests at once, or in this time."""

    status = 429
    title = "Too many requests"
    retry_after_s = 1


class Unavailable(Refusal):
    """The database, the blob store or the broker does not answer."""

    status = 503
    title = "Not available"
    retry_after_s = 2


class StorageFull(Refusal):
    """No room is left; nothing of this request was kept."""

    status = 507
    title = "Storage full"
    retry_after_s = 30
