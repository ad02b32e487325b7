"""What the pages of one application keep: the pictures that were drawn last."""

from typing import cast

from starlette.requests import Request

from triage.services.incidents.pictures import PictureStore

__all__ = ["pictures_of"]


def pictures_of(request: Request) -> PictureStore:
    """The pictures of the application that answers this request."""
    return cast("PictureStore", request.app.state.pictures)
