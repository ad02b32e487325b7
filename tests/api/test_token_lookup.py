"""Tokens are looked up once for all who come together, and never before they came."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from triage.api.limits import token_lookup
from triage.api.limits.token_lookup import TokenLookup
from triage.errors import Unavailable

REQUEST = Request({"type": "http", "client": ("10.0.0.1", 1), "headers": []})
CTX: Any = SimpleNamespace()


class Tokens:
    """A table of tokens that is slow to answer."""

    def __init__(self) -> None:
        self.good = {"t"}
        self.looks = 0
        self.go = threading.Event()

    def check(self, ctx: object, token: str) -> Any:
        self.looks += 1
        found = token in self.good
        self.go.wait(60)
        return SimpleNamespace(id=token) if found else None


@pytest.fixture
def tokens(monkeypatch: pytest.MonkeyPatch) -> Tokens:
    found = Tokens()
    monkeypatch.setattr(token_lookup, "check_token", found.check)
    return found


def test_requests_that_come_together_share_a_look(tokens: Tokens) -> None:
    async def story() -> None:
        lookup = TokenLookup(CTX)
        many = [asyncio.create_task(lookup.key_of(REQUEST, "t")) for _ in range(500)]
        await asyncio.sleep(0.05)
        tokens.go.set()
        keys = await asyncio.gather(*many)
        assert all(key is not None and key.id == "t" for key in keys)
        assert tokens.looks <= 2
        assert not lookup.looks
        assert not lookup.locks

    asyncio.run(story())


def test_who_comes_after_a_token_was_revoked_is_not_let_in_by_an_older_look(
    tokens: Tokens,
) -> None:
    async def story() -> None:
        lookup = TokenLookup(CTX)
        before = asyncio.create_task(lookup.key_of(REQUEST, "t"))
        while not tokens.looks:
            await asyncio.sleep(0.01)
        tokens.good.clear()
        after = asyncio.create_task(lookup.key_of(REQUEST, "t"))
        await asyncio.sleep(0.05)
        tokens.go.set()
        assert await before is not None
        assert await after is None

    asyncio.run(story())


def test_a_client_that_goes_away_takes_nobody_with_it(tokens: Tokens) -> None:
    async def story() -> None:
        lookup = TokenLookup(CTX)
        gone, stays = (asyncio.create_task(lookup.key_of(REQUEST, "t")) for _ in range(2))
        await asyncio.sleep(0.05)
        gone.cancel()
        tokens.go.set()
        assert await stays is not None

    asyncio.run(story())


def test_a_database_that_is_away_is_told_to_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(ctx: object, token: str) -> Any:
        raise Unavailable("away")

    monkeypatch.setattr(token_lookup, "check_token", fails)

    async def story() -> None:
        lookup = TokenLookup(CTX)
        many = [asyncio.create_task(lookup.key_of(REQUEST, "t")) for _ in range(5)]
        told = await asyncio.gather(*many, return_exceptions=True)
        assert [type(one) for one in told] == [Unavailable] * 5
        assert not lookup.locks

    asyncio.run(story())
