"""The refusals that only HTTP knows, beside those of :mod:`triage.errors`."""

from triage.errors import Refusal, TriageError


class ClientGone(TriageError):
    """The client went away before its body ended; nobody is left to be answered."""


class MethodNotAllowed(Refusal):
    """The route is there, the method is not; ``allowed`` are those that are."""

    status = 405
    title = "Method not allowed"

    def __init__(self, detail: str, allowed: tuple[str, ...]) -> None:
        super().__init__(detail, hint="use " + " or ".join(allowed) if allowed else "")
        self.allowed = allowed


class NotAcceptable(Refusal):
    """None of the forms that the client accepts is one that we have."""

    status = 406
    title = "Not acceptable"


class BodyTooSlow(Refusal):
    """The body stopped coming, or comes too slowly; nothing of it was kept."""

    status = 408
    title = "Body too slow"
