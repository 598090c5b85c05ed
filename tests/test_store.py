"""What comes out of the store is what went in, or nothing."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sublimate import files
from sublimate.errors import InputRefused, IntegrityError, ResourceError
from sublimate.files import sha256
from sublimate.store import Store

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def object_file(store, digest):
    return next(store.root.rglob(digest))


def test_bytes_are_found_by_their_digest(store):
    assert store.put(b"abc") == ABC
    assert store.put(b"abc") == ABC
    assert store.has(ABC) and store.get(ABC) == b"abc"
    assert [file.name for file in store.root.rglob("*") if file.is_file()] == [ABC]


def test_the_default_place_is_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SUBLIMATE_CACHE", str(tmp_path / "cache"))
    assert Store().root == tmp_path / "cache" / "store"
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("damage", [b"abd", b"ab", b""])
def test_a_damaged_object_is_moved_aside_and_can_be_made_anew(store, damage):
    store.put(b"abc")
    object_file(store, ABC).write_bytes(damage)
    with pytest.raises(IntegrityError, match="is damaged"):
        store.get(ABC)
    assert not store.has(ABC)
    with pytest.raises(IntegrityError, match="has no object"):
        store.get(ABC)
    store.put(b"abc")
    assert store.get(ABC) == b"abc"


def test_putting_heals_a_damaged_object(store):
    store.put(b"abc")
    object_file(store, ABC).write_bytes(b"abd")
    store.put(b"abc")
    assert store.get(ABC) == b"abc"


@pytest.mark.parametrize("digest", ["../../etc/passwd", "", ABC.upper(), ABC[:-1], ABC + "\n"])
def test_what_is_no_digest_never_becomes_a_path(store, digest):
    for use in (store.get, store.has, lambda d: store.link("key", d)):
        with pytest.raises(InputRefused, match="is no SHA-256"):
            use(digest)
    assert not store.root.exists()


def test_names(store):
    assert store.find("retrain") is None
    old, new = store.put(b"old"), store.put(b"new")
    store.link("retrain", old)
    store.link("../../original\n", new)
    assert (store.find("retrain"), store.find("../../original\n")) == (old, new)
    store.link("retrain", new)
    assert store.find("retrain") == new


def test_a_name_without_its_object_is_no_name(store):
    store.link("gone", ABC)
    assert store.find("gone") is None
    store.link("torn", store.put(b"abc"))
    (store.root / "names" / sha256(b"torn")).write_bytes(b"\xff" + ABC.encode()[1:])
    assert store.find("torn") is None


def test_slots_are_apart_and_rewritten(store):
    one, two = store.slot("one"), store.slot("two")
    assert one.load() is None
    one.save(b"1")
    two.save(b"")
    one.save(b"11")
    assert (one.load(), two.load()) == (b"11", b"")
    one.clear()
    one.clear()
    assert (one.load(), two.load()) == (None, b"")


@given(st.binary(max_size=50), st.data())
def test_a_torn_or_flipped_state_is_never_trusted(tmp_path_factory, data, draw):
    slot = Store(tmp_path_factory.mktemp("store")).slot("run")
    slot.save(data)
    whole = slot.path.read_bytes()
    bit = draw.draw(st.integers(0, 8 * len(whole) - 1))
    flipped = bytearray(whole)
    flipped[bit // 8] ^= 1 << bit % 8
    cut = draw.draw(st.integers(0, len(whole) - 1))
    for damaged in (bytes(flipped), whole[:cut], whole + b"\0"):
        slot.path.write_bytes(damaged)
        assert slot.load() is None


def test_a_new_start_removes_what_a_killed_writer_left(store):
    slot = store.slot("run")
    slot.save(b"state")
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    rest = slot.path.with_name(f".{slot.path.name}.{files._host()}.{child.pid}.00000000.partial")
    rest.write_bytes(b"torn")
    assert slot.load() == b"state"
    assert not rest.exists()


def test_a_store_that_cannot_be_made_is_a_matter_of_resources(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ResourceError):
        Store(tmp_path / "file").put(b"abc")
