"""Pages are written in whole batches, a killed run goes on where it stopped, and memory does not grow with the document."""

from __future__ import annotations

import errno
import os
import pickle
import resource
import signal
import subprocess
import sys
import textwrap
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.documents.read import Counts, Extract, Status, dehyphenated, extract, furniture, read_pages, summary
from tasks.documents.spool import BATCH, Record, Spool
from tasks.domain.errors import PermanentError, TemporaryError
from tests.conftest import REPOSITORY
from tests.documents.conftest import Bench

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def files(folder: Path) -> dict[str, tuple[int, int]]:
    """Each batch with its inode and the time at which it was written."""
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in sorted(folder.glob("batch-*.json.gz"))}


def batch_of(number: int) -> str:
    return f"batch-{number:05}.json.gz"


@given(st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=3), max_size=3))
@settings(max_examples=50)
def test_a_batch_comes_back_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, records: list[Record]) -> None:
    """Lone surrogates and noncharacters too, as PDFium gives them."""
    spool = Spool(tmp_path_factory.mktemp("spool"))
    spool.write_batch(3, records)
    assert spool.read_batch(3) == records and spool.read_batch(2) is None


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_batch_that_was_cut_off_counts_as_none(tmp_path: Path, share: float) -> None:
    spool = Spool(tmp_path)
    spool.write_batch(0, [{"text": "x" * 50, "number": number} for number in range(50)])
    path = tmp_path / batch_of(0)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    assert spool.read_batch(0) is None
    with pytest.raises(TemporaryError, match="read the document again"):
        list(spool.batches(1))


def test_another_header_empties_the_spool_and_nothing_else(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.belong_to({"sha256": "a"})
    spool.write_batch(0, [{}])
    spool.write_notes({"x": 1})
    (tmp_path / "of somebody else").write_text("x")
    spool.belong_to({"sha256": "a"})
    assert spool.read_batch(0) == [{}]
    spool.belong_to({"sha256": "b"})
    assert spool.read_batch(0) is None and spool.notes() == {} and (tmp_path / "of somebody else").exists()


def test_a_second_writer_is_sent_away(tmp_path: Path) -> None:
    with Spool(tmp_path).locked(), pytest.raises(TemporaryError, match="Another run"), Spool(tmp_path).locked():
        pytest.fail("two writers")
    # Free again: a lock that stayed would raise here.
    spool = Spool(tmp_path)
    with spool.locked():
        spool.write_batch(0, [{"page": 1}])
    assert spool.read_batch(0) == [{"page": 1}]


@pytest.mark.parametrize("step", ["write", "fsync"])
def test_a_full_disk_is_told_and_leaves_no_half_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A limit on the size of files for the first, an error at the flush for the second: both are how a full disk shows."""
    spool = Spool(tmp_path)
    spool.write_batch(0, [{"number": 1}])
    noise = [{"text": os.urandom(4096).hex()} for _ in range(50)]
    if step == "fsync":

        def full(descriptor: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(TemporaryError, match="disk is full"):
            spool.write_batch(1, noise)
    else:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        try:
            with pytest.raises(TemporaryError, match="disk is full"):
                spool.write_batch(1, noise)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in tmp_path.iterdir()] == [batch_of(0)]


def test_a_folder_that_cannot_be_made_is_a_permanent_error(bench: Bench) -> None:
    (bench.folder / "file").write_text("x")
    with pytest.raises(PermanentError, match="cannot be written"):
        extract(bench.pdf("a.pdf", "words"), "a.pdf", bench.folder / "file" / "spool")


def test_an_extract_is_small_and_survives_pickling(bench: Bench) -> None:
    raw = extract(bench.pdf("a.pdf", *["a page of words"] * 60), "a.pdf", bench.folder / "spool")
    again: Extract = pickle.loads(pickle.dumps(raw))
    assert again == raw and len(pickle.dumps(raw)) < 1_000
    assert len(list(dehyphenated(again))) == 60


def test_an_extract_again_reads_nothing_and_a_changed_file_everything(bench: Bench) -> None:
    spool = bench.folder / "spool"
    first = extract(bench.pdf("a.pdf", *["one"] * 120), "a.pdf", spool)
    written = files(spool)
    assert len(written) == 3 and first.page_count == 120
    seen: list[tuple[int, int]] = []
    assert extract(bench.folder / "a.pdf", "a.pdf", spool, progress=lambda *done: seen.append(done)) == first
    assert files(spool) == written and seen == [(50, 120), (100, 120), (120, 120)]
    changed = extract(bench.pdf("a.pdf", *["two"] * 60), "a.pdf", spool)
    assert {page.text for page in dehyphenated(changed)} == {"two"} and len(files(spool)) == 2


def test_a_batch_that_was_damaged_on_disk_is_read_again_alone(bench: Bench) -> None:
    spool = bench.folder / "spool"
    path = bench.pdf("a.pdf", *(f"page {number}" for number in range(1, 121)))
    extract(path, "a.pdf", spool)
    before = files(spool)
    (spool / batch_of(1)).write_bytes(b"\x1f\x8b no more")
    raw = extract(path, "a.pdf", spool)
    after = files(spool)
    assert before[batch_of(0)] == after[batch_of(0)] and before[batch_of(2)] == after[batch_of(2)]
    assert [page.text for page in dehyphenated(raw)] == [f"page {number}" for number in range(1, 121)]


def test_a_run_that_was_killed_goes_on_after_its_last_whole_batch(bench: Bench) -> None:
    """SIGKILL in the middle of the second batch, in a process of its own; the batches before stay untouched, and the text is the same."""
    path, spool = bench.long("long.pdf", 130), bench.folder / "spool"
    script = textwrap.dedent(
        """
        import sys, time
        from pathlib import Path
        from tasks.documents.read import extract
        extract(Path(sys.argv[1]), "long.pdf", Path(sys.argv[2]), progress=lambda done, pages: print(done, flush=True))
        """
    )
    run = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script, str(path), str(spool)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    )
    assert run.stdout is not None
    for line in run.stdout:
        if int(line) >= BATCH:
            break
    run.send_signal(signal.SIGKILL)
    run.wait(10)
    run.stdout.close()
    left = files(spool)
    assert 1 <= len(left) < 3
    done: list[int] = []
    raw = extract(path, "long.pdf", spool, progress=lambda page, _: done.append(page))
    assert {name: place for name, place in files(spool).items() if name in left} == left
    assert done[-1] == 130 and len(files(spool)) == 3
    counts = Counts()
    pages = []
    for page in dehyphenated(raw):
        counts.add(page)
        pages.append(page)
    fresh = read_pages(path, "long.pdf")
    assert tuple(pages) == fresh.pages and furniture(raw) == fresh.furniture
    assert summary(raw, counts) == (fresh.status, fresh.reason) == (Status.OK, "130 pages read.")


def test_memory_does_not_grow_with_the_pages(bench: Bench) -> None:
    """A hundred pages more cost less than half of what their records take: a reader that holds them would pay all of it."""
    read_pages(bench.pdf("first.pdf", "words"), "first.pdf")  # what is imported once does not count
    peaks: dict[int, int] = {}
    held: dict[int, int] = {}
    for pages in (50, 150):
        path = bench.long(f"{pages}.pdf", pages)
        tracemalloc.start()
        raw = extract(path, path.name, bench.folder / path.stem)
        assert sum(bool(page.text) for page in dehyphenated(raw)) == pages
        peaks[pages] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        tracemalloc.start()
        records = [record for batch in Spool(bench.folder / path.stem).batches(pages // 50) for record in batch]
        held[pages] = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert len(records) == pages
    assert held[150] - held[50] > 1_000_000
    assert peaks[150] - peaks[50] < (held[150] - held[50]) / 2, (peaks, held)
