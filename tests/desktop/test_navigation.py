"""Going to pages by code, and knowing when one is there."""

from __future__ import annotations

import socket
import struct
from dataclasses import replace

import pytest

from tasks.desktop.navigation import command_line, same_page
from tasks.desktop.session import Desktop
from tasks.domain.actions import Point
from tasks.domain.errors import PermanentError, RunStopped, TemporaryError
from tests.desktop.fixtures import eventually


def test_a_page_is_there_when_open_returns(desktop: Desktop, site: str) -> None:
    for page, title in (("receipt", "Receipt"), ("fields", "Fields"), ("receipt", "Receipt"), ("receipt", "Receipt")):
        desktop.open(f"{site}/{page}")
        assert (desktop.tree().url, desktop.tree().title) == (f"{site}/{page}", title)


def test_a_slow_page_is_waited_for(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/slow")
    assert "Here at last" in desktop.tree().text


def test_a_page_that_differs_by_its_fragment_alone_is_loaded(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/receipt#one")
    desktop.open(f"{site}/receipt#two")
    assert desktop.tree().url == f"{site}/receipt#two"


def test_nobody_answering_is_a_temporary_error(desktop: Desktop) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(TemporaryError, match="nobody answers"):
            desktop.open(f"http://127.0.0.1:{unused.getsockname()[1]}/")


def test_a_page_that_takes_too_long_is_a_temporary_error(desktop: Desktop, site: str) -> None:
    patient = desktop.options
    desktop.options = replace(patient, load_seconds=0.5)
    try:
        with pytest.raises(TemporaryError, match="was not loaded"):
            desktop.open(f"{site}/slow")
    finally:
        desktop.options = patient
    assert eventually(lambda: desktop.tree().title == "Slow")


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "javascript:alert(1)", "about:config", "chrome://browser", "", "x"]
)
def test_other_addresses_are_refused(desktop: Desktop, url: str) -> None:
    with pytest.raises(PermanentError, match="only http and https"):
        desktop.open(url)


def test_a_click_on_a_slow_link_settles_when_its_page_is_there(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/links")
    before = desktop.pixels()
    desktop.input.click(Point(40, 28))
    assert desktop.settle(before).changed
    assert "Here at last" in desktop.tree().text


def test_a_spinner_does_not_hang_the_settling(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/spinner")
    assert not desktop.settle().quiet


def test_a_link_for_a_new_tab_opens_in_the_one_that_is_seen(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/links")
    desktop.input.click(Point(40, 88))
    assert eventually(lambda: desktop.tree().title == "Receipt")


def test_a_stop_ends_the_wait_for_a_page(desktop: Desktop, site: str) -> None:
    def check() -> None:
        raise RunStopped("kill switch")

    desktop.open(f"{site}/links")
    before = desktop.pixels()
    desktop.input.click(Point(40, 28))
    with pytest.raises(RunStopped):
        desktop.settle(before, check=check)
    assert eventually(lambda: desktop.tree().title == "Slow")


def test_a_command_line_is_laid_out_as_firefox_reads_it() -> None:
    data = command_line("firefox", "http://x/é")
    count, first, second = struct.unpack_from("<3i", data)
    assert count == 2
    assert data[first:].split(b"\0")[0] == b"firefox"
    assert data[second:].split(b"\0")[0].decode() == "http://x/é"


def test_same_page_looks_at_everything_but_the_fragment() -> None:
    assert same_page("http://x/a#b", "http://x/a")
    assert not same_page("http://x/a?q=1", "http://x/a")
