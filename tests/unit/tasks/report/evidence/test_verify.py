"""Whatever is done to a bundle is found and named."""

import hashlib
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from biasgrid.tasks.report.evidence.manifest import NoManifest, read_manifest
from biasgrid.tasks.report.evidence.verify import verify

PLACES, SEED = 100, 20_260_301
Done = Callable[[dict[str, bytes]], dict[str, bytes]]


def flaws_of(path: Path) -> list[str]:
    return [str(flaw) for flaw in verify(path).flaws]


def packed_anew(path: Path, done: Done, **how: Any) -> None:
    """What a person does who unpacks, changes files, and packs again."""
    with zipfile.ZipFile(path) as opened:
        files = done({name: opened.read(name) for name in opened.namelist()})
    with zipfile.ZipFile(path, "w", **how) as opened:
        for name, content in files.items():
            opened.writestr(name, content)


def test_a_bundle_is_intact_and_so_is_what_it_was_unpacked_to(written, unpacked):
    of_zip, of_folder = verify(written), verify(unpacked)
    assert of_zip.is_intact
    assert of_folder.is_intact
    assert (
        of_zip.digest == of_folder.digest == hashlib.sha256((unpacked / "manifest.json").read_bytes()).hexdigest()
    )


def test_other_programs_can_read_and_check_it(written, unpacked):
    with zipfile.ZipFile(written) as opened:
        assert opened.testzip() is None
    listed = (unpacked / "SHA256SUMS").read_text().splitlines()
    files = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert {line.split("  ")[1] for line in listed} == files - {"SHA256SUMS"}
    for line in listed:
        digest, name = line.split("  ")
        assert hashlib.sha256((unpacked / name).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize(
    ("done", "found"),
    [
        (lambda files: files | {"coverage.md": b"All is well.\n"}, "changed: coverage.md"),
        (lambda files: {name: files[name] for name in files if name != "coverage.md"}, "missing: coverage.md"),
        (lambda files: files | {"marts/extra.csv": b"a\n"}, "added: marts/extra.csv"),
        (
            lambda files: {("c.md" if name == "coverage.md" else name): files[name] for name in files},
            "renamed: coverage.md to c.md",
        ),
        (lambda files: {name: files[name] for name in files if name != "manifest.json"}, "missing: manifest.json"),
        (lambda files: {name: files[name] for name in files if name != "SHA256SUMS"}, "missing: SHA256SUMS"),
        (lambda files: files | {"manifest.json": files["manifest.json"] + b"\n"}, "changed (it is not written"),
        (lambda files: files | {"SHA256SUMS": files["SHA256SUMS"] + b"\n"}, "changed: SHA256SUMS"),
    ],
)
def test_a_file_that_was_tampered_with_is_named(bundle, done, found):
    packed_anew(bundle, done)
    assert any(flaw.startswith(found) for flaw in flaws_of(bundle)), flaws_of(bundle)


@pytest.mark.parametrize(
    ("how", "found"),
    [({}, "header of `manifest.json`"), ({"compression": zipfile.ZIP_DEFLATED}, "header of `manifest.json`")],
)
def test_the_same_files_packed_by_another_are_another_zip(bundle, how, found):
    packed_anew(bundle, lambda files: files, **how)
    (flaw,) = flaws_of(bundle)
    assert found in flaw


@pytest.mark.parametrize(
    ("tamper", "found"),
    [
        (lambda path: path.write_bytes(path.read_bytes() + b"x"), "added: bytes after the end of the zip"),
        (lambda path: path.write_bytes(b"x" + path.read_bytes()), "changed, at byte 0"),
        (lambda path: path.write_bytes(path.read_bytes()[:-30]), "cannot be read as a zip"),
        (lambda path: path.write_bytes(b""), "cannot be read as a zip"),
        (lambda path: path.write_bytes(b"# a text\n"), "cannot be read as a zip"),
        (lambda path: add_comment(path), "the end of the zip"),
        (lambda path: twice(path), "there more than once: coverage.md"),
    ],
)
def test_what_is_done_to_the_zip_itself_is_found(bundle, tamper, found):
    tamper(bundle)
    assert any(found in flaw for flaw in flaws_of(bundle)), flaws_of(bundle)


def add_comment(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:-2] + b"\x02\x00ok")


def twice(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as opened, pytest.warns(UserWarning, match="Duplicate name"):
        opened.writestr("coverage.md", opened.read("coverage.md"))


def test_a_byte_flipped_anywhere_is_found(bundle):
    whole = bundle.read_bytes()
    drawn = random.Random(SEED)
    places = [*drawn.sample(range(len(whole)), PLACES), 0, *range(len(whole) - 98, len(whole))]
    for place in places:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << drawn.randrange(8)
        bundle.write_bytes(flipped)
        assert not verify(bundle).is_intact, f"byte {place}"


def test_a_byte_flipped_in_a_file_names_that_file(bundle):
    whole = bundle.read_bytes()
    place = whole.index(b"# Coverage record")
    bundle.write_bytes(whole[:place] + b"%" + whole[place + 1 :])
    assert flaws_of(bundle) == ["changed: coverage.md"]


def test_a_manifest_that_was_changed_alone_does_not_fit_the_sums(unpacked):
    path = unpacked / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"run_id": "R1"', b'"run_id": "R9"'))
    assert flaws_of(unpacked) == ["changed, one or both: manifest.json, SHA256SUMS"]


def test_files_of_a_folder_are_files_of_their_own(unpacked):
    record = unpacked / "record.html"
    record.rename(unpacked.parent / "elsewhere.html")
    record.symlink_to(unpacked.parent / "elsewhere.html")
    (unpacked / ".DS_Store").write_bytes(b"x")
    assert flaws_of(unpacked) == ["added: .DS_Store", "changed: record.html"]


@pytest.mark.parametrize(
    "path",
    [
        *("../../etc/passwd", "/etc/passwd", "a/../b", "a\\b", "c:d", "manifest.json", ""),
        *("a\nb", "a\x1b[31mb", "\u202ea", "a ", "a.", ".a", "CON", "marts/lpt1.csv"),
    ],
)
def test_a_manifest_names_nothing_outside_of_its_bundle_and_what_any_system_can_unpack(unpacked, path):
    flaws_of = json.loads((unpacked / "manifest.json").read_text())
    flaws_of["files"][0]["path"] = path
    with pytest.raises(NoManifest):
        read_manifest(json.dumps(flaws_of).encode())


def test_a_bomb_is_not_unpacked(bundle):
    packed_anew(bundle, lambda files: files | {"coverage.md": bytes(1 << 26)}, compression=zipfile.ZIP_DEFLATED)
    assert "changed: coverage.md" in flaws_of(bundle)


def test_a_file_that_the_manifest_does_not_list_is_not_read(unpacked):
    with (unpacked / "endless").open("wb") as file:
        file.truncate(1 << 40)
    assert flaws_of(unpacked) == ["added: endless"]


def test_a_bundle_of_the_first_form_named_no_language_and_is_checked_all_the_same(unpacked):
    path = unpacked / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["language"]
    manifest["versions"]["bundle_schema"] = 1
    path.write_text(json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    sums = unpacked / "SHA256SUMS"
    own = hashlib.sha256(path.read_bytes()).hexdigest()
    sums.write_text(f"{own}  manifest.json\n" + "".join(sums.read_text().splitlines(keepends=True)[1:]))
    assert flaws_of(unpacked) == []


@pytest.mark.parametrize(
    "dated", ["2026-03-01T05:30:05+01:00", "2026-03-01T04:30:05", "0001-01-01T00:00:00+14:00"]
)
def test_a_manifest_shows_its_time_in_utc(unpacked, dated):
    manifest = json.loads((unpacked / "manifest.json").read_text()) | {"dated": dated}
    with pytest.raises(NoManifest):
        read_manifest(json.dumps(manifest).encode())
