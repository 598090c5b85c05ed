"""A signal outside a run that can be saved ends with a word and with 75, too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from sublimate.cli.stopping import Stopped, signals

SLOW = """
import time
import sublimate as sm

def digits():
    open("reading", "w").close()
    time.sleep(60)
    return sm.load("digits")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_run_says_so(number, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    args = ["train", "--data", "slow:digits", "--model", "small-cnn", "--out", "out.safetensors"]
    process = subprocess.Popen(
        [sys.executable, "-m", "sublimate", *args], cwd=tmp_path, stderr=subprocess.PIPE, env=os.environ
    )
    while not (tmp_path / "reading").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == 75
    assert err.decode().splitlines()[0] == "sublimate: Interrupted."
    assert "Run the same command again" in err.decode()


def test_a_second_signal_ends_at_once():
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(Stopped), signals() as interrupted:
        assert not interrupted()
        signal.raise_signal(signal.SIGINT)
        assert interrupted()
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGINT) is handler
