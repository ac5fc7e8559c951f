"""Where an address leads: the portal's own, or anywhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.origins import left, origin, own

PORTAL = "https://portal.example:8443"


@pytest.mark.parametrize(
    "address",
    [
        "https://portal.example:8443",
        "https://portal.example:8443/",
        "HTTPS://Portal.Example:8443/drafts/7?x=https://evil.example#y",
        "https://portal.example.:8443/",
    ],
)
def test_an_address_of_the_portal_is_its_own(address: str) -> None:
    assert own(address, [PORTAL]) and not left(address, [PORTAL])


@pytest.mark.parametrize(
    "address",
    [
        "https://portal.example/",
        "http://portal.example:8443/",
        "https://portal.example:8444/",
        "https://portal.example:8443@evil.example/",
        "https://me@portal.example:8443/",
        "https://portal.example:8443.evil.example/",
        "https://evil.example/https://portal.example:8443/",
        "https://portal.example\\.evil.example:8443/",
        "https://portal.example:8443\\@evil.example/",
        " https://portal.example:8443/",
        "https://portal.exa\tmple:8443/",
        "https://portal.exa\u200bmple:8443/",
        "https://p\u043ertal.example:8443/",
        "https://portal.example:99999/",
        "https://[portal.example/",
        "//portal.example:8443/",
        "portal.example:8443",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "blob:https://portal.example:8443/1",
        "view-source:https://portal.example:8443/",
        "about:config",
        "moz-extension://portal.example:8443/",
    ],
)
def test_every_other_address_is_not(address: str) -> None:
    assert not own(address, [PORTAL]) and left(address, [PORTAL])


@pytest.mark.parametrize("address", [None, "", "about:blank", "about:neterror?e=connectionFailure&u=x", "about:srcdoc"])
def test_between_two_pages_the_browser_has_not_left(address: str | None) -> None:
    assert not left(address, [PORTAL])


def test_a_port_that_goes_without_saying_is_the_same() -> None:
    assert origin("https://a.example") == origin("https://a.example:443") == "https://a.example:443"
    assert origin("http://a.example:80/x") == origin("http://a.example") != origin("https://a.example")


def test_a_name_in_another_script_is_the_name_that_is_looked_up() -> None:
    assert origin("https://bücher.example/") == origin("https://xn--bcher-kva.example/")


def test_without_origins_every_address_is_elsewhere() -> None:
    assert left("https://portal.example:8443/", [])


@given(st.text(max_size=60))
def test_any_text_gets_an_answer(address: str) -> None:
    found = origin(address)
    assert found is None or own(found, [found])
