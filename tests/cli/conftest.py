from __future__ import annotations

import pytest

from sublimate import cli


@pytest.fixture
def call(monkeypatch, capsys):
    """A command in this process (a process per call would mostly import torch): exit code, stdout, stderr."""

    def call(*args):
        monkeypatch.setattr("sys.argv", ["sublimate", *map(str, args)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return stop.value.code or 0, out, err

    return call


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A digits network and its Retrain, trained for three epochs by the command itself."""
    folder = tmp_path_factory.mktemp("made")
    for name, extra in (("original", []), ("retrain", ["--forget", "class:3"])):
        args = ["train", "--data", "digits", "--model", "small-cnn", "--epochs", "3", "--quiet"]
        with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stop:
            patch.setattr("sys.argv", ["sublimate", *args, "--out", str(folder / f"{name}.safetensors"), *extra])
            cli.main()
        assert not stop.value.code
    return folder
