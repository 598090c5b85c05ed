import hashlib
import io
import os
import pickle
import struct
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from sublimate.data import cifar_files, load
from sublimate.data.cifar import cifar
from sublimate.data.cifar_sets import CIFAR10, CIFAR100
from sublimate.errors import InputRefused, IntegrityError, ResourceError

RNG = np.random.default_rng(0)
X = RNG.integers(0, 256, (24, 32, 32, 3), dtype=np.uint8)  # five times four training rows, four test rows
Y = RNG.integers(0, 10, 24, dtype=np.uint8)
COARSE = RNG.integers(0, 20, 24, dtype=np.uint8)


def sha(x):
    return hashlib.sha256(np.ascontiguousarray(x).tobytes()).hexdigest()


DIGESTS = (sha(X[:20]), sha(X[20:]), sha(Y))
TINY = {spec.name: replace(spec, digests=DIGESTS) for spec in (CIFAR10, CIFAR100)}
FORMS = ["mosaics", "python folder", "python archive", "binary folder", "binary archive"]


def python2(value):
    """Opcodes as Python 2 wrote them for the official files."""
    if isinstance(value, dict):
        return b"}(" + b"".join(python2(k) + python2(v) for k, v in value.items()) + b"u"
    if isinstance(value, list):
        return b"](" + b"".join(map(python2, value)) + b"e"
    if isinstance(value, bytes):
        return b"T" + struct.pack("<i", len(value)) + value
    if isinstance(value, int):
        return b"J" + struct.pack("<i", value)
    empty = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
    dtype = b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    shape = b"".join(map(python2, value.shape)) + b"\x86"
    return empty + b"(K\x01" + shape + dtype + b"\x89" + python2(value.tobytes()) + b"tb"


def official(spec, x, y):
    """Name -> content of the official files, Python and binary."""
    per = 20 // (len(spec.batches) - 1)
    files = {}
    for i, batch in enumerate(spec.batches):
        rows = slice(20, 24) if i == len(spec.batches) - 1 else slice(i * per, (i + 1) * per)
        flat = x[rows].transpose(0, 3, 1, 2).reshape(-1, 3072)
        fine, coarse = {spec.label_key.encode(): y[rows].tolist()}, {b"coarse_labels": COARSE[rows].tolist()}
        labels = [COARSE[rows, None], y[rows, None]][2 - spec.label_bytes :]
        names = {b"filenames": [b"x.png"] * len(flat), b"batch_label": batch.encode()}
        content = {**names, **fine, **(coarse if spec is TINY["cifar100"] else {}), b"data": flat}
        files[f"{spec.python[1]}/{batch}"] = b"\x80\x02" + python2(content) + b"."
        files[f"{spec.binary[1]}/{batch}.bin"] = np.hstack([*labels, flat]).tobytes()
    return files


def write(root, form, spec, x=X, y=Y):
    """Lay out the rows in one of the forms; gives the archive or folder."""
    if form == "mosaics":
        return write_mosaics(root / spec.name, spec, x, y)
    archive, folder = spec.python if form.startswith("python") else spec.binary
    files = {name: raw for name, raw in official(spec, x, y).items() if name.startswith(f"{folder}/")}
    if form.endswith("archive"):
        return write_archive(root / archive, {f"{folder}/readme.html": b"<html>", **files})
    (root / folder).mkdir()
    for name, raw in files.items():
        (root / name).write_bytes(raw)
    return root / folder


def write_archive(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, raw in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(raw)
            archive.addfile(member, io.BytesIO(raw))
    return path


def write_mosaics(folder, spec, x, y):
    folder.mkdir()
    for name, rows in zip(["train_1", "train_2", "train_3", "train_4", "train_5", "test"], np.split(x, 6), strict=True):
        picture = np.vstack([np.hstack(rows[:2]), np.hstack(rows[2:])])
        Image.fromarray(picture).save(folder / f"{name}.webp", lossless=True, exact=True)
    np.savez(folder / "labels.npz", **dict(zip(spec.mosaic_keys, (y[:20], y[20:]), strict=True)))
    return folder


def test_the_writer_of_this_test_writes_what_pickle_reads():
    raw = official(TINY["cifar10"], X, Y)["cifar-10-batches-py/data_batch_2"]
    batch = pickle.loads(raw, encoding="bytes")
    assert np.array_equal(batch[b"data"], X[4:8].transpose(0, 3, 1, 2).reshape(4, 3072))
    assert batch[b"labels"] == Y[4:8].tolist() and batch[b"batch_label"] == b"data_batch_2"


@pytest.mark.parametrize("name", TINY)
def test_all_forms_give_the_same_data(name, tmp_path):
    fingerprints = set()
    for form in FORMS:
        (tmp_path / form).mkdir()
        write(tmp_path / form, form, TINY[name])
        data = cifar(TINY[name], tmp_path / form)
        assert np.array_equal(data.images, X.transpose(0, 3, 1, 2)) and data.images.is_contiguous()
        assert np.array_equal(data.labels, Y) and data.labels.dtype == torch.int64
        assert (data.sizes, data.ids) == ((20, 4, 0), tuple(map(str, range(20))))
        fingerprints.add((data.name, data.content, data.mean, data.std, data.fingerprint))
    assert len(fingerprints) == 1


def test_the_fingerprint_tells_the_two_sets_apart(tmp_path):
    for spec in TINY.values():
        write(tmp_path, "binary folder", spec)
    assert cifar(TINY["cifar10"], tmp_path).fingerprint != cifar(TINY["cifar100"], tmp_path).fingerprint


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("part", ["training images", "test images", "labels"])
def test_one_changed_value_breaks_the_integrity(form, part, tmp_path):
    x, y = X.copy(), Y.copy()
    changed = {"training images": x[7, 5, 5], "test images": x[22, 0, 0], "labels": y[3:4]}[part]
    changed[0] ^= 1
    write(tmp_path, form, TINY["cifar10"], x, y)
    with pytest.raises(IntegrityError, match=f"The {part} in .* digest differs"):
        cifar(TINY["cifar10"], tmp_path)


@pytest.mark.parametrize("form", ["python archive", "binary archive"])
@pytest.mark.parametrize("kept", [0.0, 0.001, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_archive_breaks_the_integrity(form, kept, tmp_path):
    archive = write(tmp_path, form, TINY["cifar10"])
    whole = archive.read_bytes()
    archive.write_bytes(whole[: int(len(whole) * kept)])
    with pytest.raises(IntegrityError, match=archive.name):
        cifar(TINY["cifar10"], tmp_path)


@pytest.mark.parametrize(
    ("form", "file"),
    [
        ("python folder", "cifar-10-batches-py/data_batch_3"),
        ("binary folder", "cifar-10-batches-bin/test_batch.bin"),
        ("mosaics", "cifar10/train_2.webp"),
        ("mosaics", "cifar10/labels.npz"),
    ],
)
@pytest.mark.parametrize("kept", [2, 100])
def test_a_truncated_file_breaks_the_integrity(form, file, kept, tmp_path):
    write(tmp_path, form, TINY["cifar10"])
    (tmp_path / file).write_bytes((tmp_path / file).read_bytes()[:kept])
    with pytest.raises(IntegrityError):
        cifar(TINY["cifar10"], tmp_path)


@pytest.mark.parametrize(
    ("form", "file"),
    [
        ("python folder", "cifar-10-batches-py/data_batch_3"),
        ("binary folder", "cifar-10-batches-bin/test_batch.bin"),
        ("mosaics", "cifar10/train_2.webp"),
    ],
)
def test_a_missing_file_is_named(form, file, tmp_path):
    write(tmp_path, form, TINY["cifar10"])
    (tmp_path / file).unlink()
    with pytest.raises(IntegrityError, match=Path(file).name):
        cifar(TINY["cifar10"], tmp_path)


def test_archives_are_never_unpacked(tmp_path):
    spec = TINY["cifar10"]
    files = {name: raw for name, raw in official(spec, X, Y).items() if name.startswith(spec.binary[1])}
    (tmp_path / "data").mkdir()
    write_archive(tmp_path / "data" / spec.binary[0], {"../escaped": b"x", "/absolute": b"x", **files})
    assert cifar(spec, tmp_path / "data").sizes == (20, 4, 0)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["cifar-10-binary.tar.gz", "data"]


def test_a_link_in_an_archive_is_not_followed(tmp_path):
    spec = TINY["cifar10"]
    with tarfile.open(tmp_path / spec.binary[0], "w:gz") as archive:
        link = tarfile.TarInfo(f"{spec.binary[1]}/test_batch.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
    with pytest.raises(IntegrityError, match=r"lacks .*test_batch\.bin"):
        cifar(spec, tmp_path)


@pytest.mark.parametrize("form", FORMS[1:])
def test_a_file_larger_than_any_official_one_is_not_read(form, tmp_path, monkeypatch):
    write(tmp_path, form, TINY["cifar10"])
    monkeypatch.setattr(cifar_files, "MOST_BYTES", 4 * 3072)
    with pytest.raises(IntegrityError, match="more than any official one"):
        cifar(TINY["cifar10"], tmp_path)


def test_what_is_forbidden_to_read_is_a_lack_of_resources(tmp_path, monkeypatch):
    write(tmp_path, "binary archive", TINY["cifar10"])

    def forbidden(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", forbidden)
    with pytest.raises(ResourceError, match="Permission denied"):
        cifar(TINY["cifar10"], tmp_path)


def test_what_is_missing_says_what_to_put_where(tmp_path, monkeypatch):
    monkeypatch.setenv("SUBLIMATE_DATA", str(tmp_path / "shelf"))
    monkeypatch.setenv("SUBLIMATE_CACHE", str(tmp_path / "cache"))
    with pytest.raises(InputRefused) as caught:
        load("cifar100")
    for word in ("shelf", str(tmp_path / "cache" / "data"), "cifar-100-python.tar.gz", "SUBLIMATE_DATA"):
        assert word in str(caught.value)


def test_the_shelf_comes_before_the_cache_and_a_root_before_both(tmp_path, monkeypatch):
    for place in ("shelf", "cache/data", "root"):
        (tmp_path / place).mkdir(parents=True)
    monkeypatch.setenv("SUBLIMATE_DATA", str(tmp_path / "shelf"))
    monkeypatch.setenv("SUBLIMATE_CACHE", str(tmp_path / "cache"))
    write(tmp_path / "cache" / "data", "binary archive", TINY["cifar10"])
    assert cifar(TINY["cifar10"]).sizes == (20, 4, 0)
    (tmp_path / "shelf" / "cifar-10-batches-bin").mkdir()
    with pytest.raises(IntegrityError, match="shelf"):
        cifar(TINY["cifar10"])
    with pytest.raises(InputRefused, match="root"):
        cifar(TINY["cifar10"], tmp_path / "root")


SHELF = Path(os.environ.get("SUBLIMATE_DATA") or Path(__file__).parents[3] / "shared" / "data")


@pytest.mark.parametrize(("spec", "names"), [(CIFAR10, "names"), (CIFAR100, "fine_names")])
def test_the_real_set(spec, names):
    if not (SHELF / spec.name / "labels.npz").exists():
        pytest.skip(f"{spec.name} is not at hand: set SUBLIMATE_DATA to a folder that holds it")
    data = load(spec.name, root=SHELF)
    table = np.load(SHELF / spec.name / "labels.npz")
    assert (data.sizes, data.shape, data.classes) == ((50000, 10000, 0), (3, 32, 32), tuple(table[names]))
    assert np.array_equal(data.labels[data.test], table[spec.mosaic_keys[1]])
    values = np.arange(256) / 255
    for channel, mean, std in zip(data.images[:50000].numpy().swapaxes(0, 1), data.mean, data.std, strict=True):
        shares = np.bincount(channel.ravel(), minlength=256) / channel.size
        assert shares @ values == pytest.approx(mean, abs=5.1e-6)
        assert np.sqrt(shares @ (values - shares @ values) ** 2) == pytest.approx(std, abs=5.1e-6)
    assert data.images.dtype == torch.uint8 and data.images.is_contiguous()
