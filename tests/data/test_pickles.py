import os
import pickle
import subprocess
from contextlib import suppress

import numpy as np
import pytest

from sublimate.data.pickles import read_batch
from sublimate.errors import IntegrityError

PIXELS = np.arange(2 * 3072).astype(np.uint8).reshape(2, 3072)
BATCH = {b"data": PIXELS, b"labels": [3, 7], b"batch_label": b"testing", b"filenames": [b"a.png", b"b.png"]}


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_honest_batch_is_read(protocol, order):
    raw = pickle.dumps({**BATCH, b"data": np.array(PIXELS, order=order)}, protocol=protocol)
    pixels, labels = read_batch(raw, "labels", "data_batch_1")
    assert np.array_equal(pixels, PIXELS) and labels.tolist() == [3, 7]


class Call:
    """Pickles as the call of a function."""

    def __init__(self, function, *args):
        self.function, self.args = function, args

    def __reduce__(self):
        return self.function, self.args


def script(canary):
    return f"open({str(canary)!r}, 'w').close()"


CALLS = {
    "os.system": lambda canary: Call(os.system, f"touch '{canary}'"),
    "subprocess": lambda canary: Call(subprocess.check_call, ["touch", str(canary)]),
    "eval": lambda canary: Call(eval, script(canary)),
    "exec": lambda canary: Call(exec, script(canary)),
    "open": lambda canary: Call(open, str(canary), "x"),
    "numpy that runs strings": lambda canary: Call(np.testing._private.utils.runstring, script(canary), {}),
}
PLACES = {
    "alone": lambda call: call,
    "in the labels": lambda call: {**BATCH, b"labels": [3, call]},
    "as a key": lambda call: {**BATCH, (b"nested", call): 1},
    "deep": lambda call: {**BATCH, b"filenames": [[({b"x": (call,)},)]]},
    "in an array of objects": lambda call: {**BATCH, b"data": np.array([call], dtype=object)},
}
OPCODES = {
    "getattr": b"cbuiltins\ngetattr\n(cbuiltins\n__import__\n(S'os'\ntRS'system'\ntR(S'touch \"%s\"'\ntR.",
    "old name": b'c__builtin__\neval\n(S\'__import__("os").system("touch %s")\'\ntR.',
    "INST": b"(S'touch %s'\nios\nsystem\n.",
    "OBJ": b"(cos\nsystem\nS'touch %s'\no.",
    "dotted name": b"\x80\x04\x8c\x1cnumpy.testing._private.utils\x8c\x09os.system\x93(Vtouch %s\ntR.",
    "after a good beginning": b"}(S'data'\ncos\nsystem\n(S'touch %s'\ntRu.",
}


def corpus(canary):
    calls = [place(call(canary)) for call in CALLS.values() for place in PLACES.values()]
    dumped = [pickle.dumps(call, protocol=protocol) for call in calls for protocol in (0, 2, 4)]
    return dumped + [raw % str(canary).encode() for raw in OPCODES.values()]


def test_the_corpus_is_armed(tmp_path):
    canary = tmp_path / "canary"
    for raw in corpus(canary):
        with suppress(TypeError):  # what an armed call returns may not fit into its place
            pickle.loads(raw)
        assert canary.exists(), raw
        canary.unlink()


def test_nothing_of_the_corpus_runs(tmp_path):
    canary = tmp_path / "canary"
    for raw in corpus(canary):
        with pytest.raises(IntegrityError, match=r"data_batch_1 names .* Do not trust this file"):
            read_batch(raw, "labels", "data_batch_1")
        assert not canary.exists(), raw


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"no pickle at all",
        b"cnumpy\nndarray\n}S'args'\nI1\nsb.",  # a state for the stand-in class itself
        b"cnumpy\nndarray\n(N}S'__init__'\nI1\nstb.",  # the same through slots
        b"cnumpy\ndtype\n)\x81}S'x'\nI1\nsb.",
        b"c_codecs\nencode\n(I1\nI2\ntR.",
        b"Pos.system\n.",  # a persistent id
        b"\x80\x02\x82\x01.",  # the extension registry
        pickle.dumps([1, 2], protocol=2),
        pickle.dumps({b"labels": [1]}, protocol=2),
        pickle.dumps({b"data": b"bytes", b"labels": [1]}, protocol=2),
        pickle.dumps({**BATCH, b"data": PIXELS.astype(np.int16)}, protocol=2),
        pickle.dumps({**BATCH, b"data": PIXELS[:, :100]}, protocol=2),
        pickle.dumps({**BATCH, b"labels": [1, 300]}, protocol=2),
        pickle.dumps({**BATCH, b"labels": ["cat", "dog"]}, protocol=2),
    ],
)
def test_what_is_no_batch_breaks_the_integrity_and_leaves_no_trace(raw):
    with pytest.raises(IntegrityError):
        read_batch(raw, "labels", "data_batch_1")
    test_an_honest_batch_is_read(2, "C")


def test_a_truncated_batch_breaks_the_integrity():
    whole = pickle.dumps(BATCH, protocol=2)
    for cut in range(0, len(whole), 41):
        with pytest.raises(IntegrityError):
            read_batch(whole[:cut], "labels", "data_batch_1")
