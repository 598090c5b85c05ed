"""The command line.  Nothing here imports torch before a command that needs it runs."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import redirect_stdout
from importlib import import_module

import typer

from ..errors import SublimateError
from .stopping import Stopped, stoppable

app = typer.Typer(
    name="sublimate",
    help="Erase chosen training data from a trained PyTorch classifier, and show whether it worked.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for name in ("demo", "train", "erase", "tune", "evaluate", "audit", "bench", "report", "methods", "env"):
    module = import_module(f".{name}", __name__)
    app.command(name, epilog=f"Example: [bold]{module.EXAMPLE}[/bold]")(module.run)


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        print(f"sublimate {__version__}")
        raise typer.Exit


@app.callback()
def _everywhere(version: bool = typer.Option(False, "--version", callback=_version, is_eager=True)) -> None:
    pass


def main() -> None:
    """Run a command; whatever goes wrong ends in one sentence of cause, one of remedy, and an exit code."""
    _encode()
    try:
        with stoppable(), redirect_stdout(sys.stdout):  # which comes back when a command sent it elsewhere
            app()
    except SublimateError as error:
        _stop(error.cause, error.remedy, error.exit_code)
    except MemoryError:
        _stop("There is not enough memory.", "Use a smaller batch (--set batch_size=32) or a larger machine.", 5)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = "Free some space and run the same command again." if full else "Check the path and its permissions."
        _stop(f"{error.strerror or error} ({error.filename or 'no file'}).", remedy, 5)
    except (Stopped, KeyboardInterrupt):
        _stop("Interrupted.", "Run the same command again; a file that was written before is whole.", 75)
    except Exception as error:
        if os.environ.get("SUBLIMATE_TRACEBACK"):
            raise
        first = next(iter(str(error).splitlines()), "")
        _stop(
            f"Something unforeseen happened ({type(error).__name__}: {first}).",
            "Set SUBLIMATE_TRACEBACK=1, run it again, and report what it prints with `sublimate env`.",
            1,
        )


def _encode() -> None:
    """A terminal that lacks a letter shows its number."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _stop(cause: str, remedy: str, code: int) -> None:
    if sys.stderr is not None:  # closed: `print` would turn to stdout, which may carry JSON
        print(f"sublimate: {cause}\n{remedy}", file=sys.stderr)
    raise SystemExit(code)
