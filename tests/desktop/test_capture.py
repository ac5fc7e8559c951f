"""Pictures of the screen, and what is no picture."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tasks.desktop.capture import Screen, drawn, enlarged, one_colour
from tasks.desktop.options import DesktopOptions, visual_tokens
from tasks.desktop.session import Desktop
from tasks.domain.actions import Point
from tasks.domain.errors import PermanentError, TemporaryError


def test_a_capture_is_a_png_of_the_whole_screen(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/receipt")
    picture = Image.open(io.BytesIO(desktop.capture()))
    assert (picture.format, picture.size, picture.mode) == ("PNG", (1024, 768), "RGB")


def test_the_pointer_is_in_the_picture(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/receipt")
    desktop.input.move(Point(800, 500))
    assert desktop.settle(desktop.pixels())
    around = desktop.image().crop((790, 490, 830, 530))
    assert len(around.getcolors(maxcolors=2000) or []) > 1


def test_a_display_of_another_size_is_an_error(desktop: Desktop) -> None:
    with pytest.raises(TemporaryError, match="1024x768 pixels, but 800x600"):
        Screen(desktop.display, 800, 600)


def test_a_display_that_is_not_there_is_an_error() -> None:
    with pytest.raises(TemporaryError, match="cannot be captured"):
        Screen(":4711", 1024, 768)


def test_one_colour_all_over_is_an_error(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/blank")
    with pytest.raises(TemporaryError, match="one colour"):
        desktop.capture()


def test_one_differing_pixel_is_not_one_colour() -> None:
    blank = b"\x01\x02\x03\x04" * 100
    assert one_colour(blank)
    assert not one_colour(blank[:-4] + b"\x01\x02\x03\x05")


@given(st.integers(0, 98), st.integers(0, 73), st.data())
def test_an_enlarged_region_touches_the_frame_and_keeps_its_shape(x0: int, y0: int, data: st.DataObject) -> None:
    x1, y1 = data.draw(st.integers(x0 + 1, 100)), data.draw(st.integers(y0 + 1, 75))
    picture = enlarged(Image.new("RGB", (100, 75)), (x0, y0, x1, y1))
    assert picture.width == 100 or picture.height == 75
    assert picture.width <= 100 and picture.height <= 75
    factor = min(100 / (x1 - x0), 75 / (y1 - y0))
    assert abs(picture.width - (x1 - x0) * factor) <= 1 and abs(picture.height - (y1 - y0) * factor) <= 1


@pytest.mark.parametrize(("width", "height"), [(2001, 768), (1024, 100), (2000, 2000), (0, 0)])
def test_a_screen_that_the_model_could_not_be_shown_is_refused(tmp_path: Path, width: int, height: int) -> None:
    with pytest.raises(PermanentError, match=f"{width}x{height}"):
        DesktopOptions(folder=tmp_path, width=width, height=height)


def test_visual_tokens_are_counted_as_the_api_does() -> None:
    assert (visual_tokens(1024, 768), visual_tokens(1280, 800)) == (1036, 1334)


def test_something_is_drawn_where_the_colours_differ_nearby_or_from_the_screens() -> None:
    width, height = 200, 100
    picture = Image.new("RGB", (width, height), "white")
    picture.paste("navy", (20, 20, 120, 80))
    pixels = picture.tobytes("raw", "BGRX")
    assert not drawn(pixels, width, height, 180, 90) and not drawn(pixels, width, height, 0, 0)
    assert drawn(pixels, width, height, 70, 50)  # all one colour nearby, another than the screen's
    assert drawn(pixels, width, height, 15, 50) and drawn(pixels, width, height, 125, 50)
    assert not drawn(pixels, width, height, 199, 99)
