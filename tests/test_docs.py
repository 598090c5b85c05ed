"""What the pages say is so: their Python and commands run, all commands parse, their tables and paths are true."""

from __future__ import annotations

import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest
import torch
import typer

import sublimate as sm
from sublimate import errors
from sublimate.audits.result import Audit, Verdict
from sublimate.cli import app, main
from sublimate.request import parse
from sublimate.unlearn import METHODS

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RESULTS = sorted((ROOT / "docs" / "results").glob("*.md"))
README = PAGES[0].read_text(encoding="utf-8")
COMMANDS = typer.main.get_command(app)


class Block(NamedTuple):
    language: str
    path: str  # the file that the block shows, or `run` where its commands are to be run
    text: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    for found in re.finditer(r"^```(\w*) ?(\S*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
        yield Block(*found.groups(), line=page.count("\n", 0, found.start()) + 1)


def commands(page: str) -> list[list[str]]:
    shell = "".join(block.text for block in blocks(page) if block.language == "sh").replace("\\\n", " ")
    lines = (shlex.split(line, comments=True) for line in shell.splitlines())
    return [words[1:] for words in lines if words[:1] == ["sublimate"]]


def parse_only(words: list[str]) -> None:
    """Read the options as the command line does, and run nothing."""
    COMMANDS.commands[words[0]].make_context(words[0], words[1:])


def run_blocks(page: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run a page from top to bottom in the current folder: its Python, and the commands in blocks of `sh run`.

    A block that shows a file becomes that file, and if it is Python, that module.
    """
    names: dict[str, Any] = {"__name__": page.stem}
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "python" and block.path:
            load_as_module(Path(block.path), block.text, monkeypatch)
        elif block.language == "python":
            exec(compile("\n" * block.line + block.text, page.name, "exec"), names)  # so that line numbers are right
        elif block.language == "toml" and block.path:
            Path(block.path).write_text(block.text, encoding="utf-8")
        elif (block.language, block.path) == ("sh", "run"):
            run_commands(block.text, monkeypatch)
    return names


def run_commands(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the commands in this process; each ends with 0, or with the code that its comment announces."""
    for line in shell.replace("\\\n", " ").splitlines():
        if not (words := shlex.split(line, comments=True)):
            continue
        announced = re.search(r"# ends with code (\d+)", line)
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as stop:
            main()
        assert (stop.value.code or 0) == (int(announced[1]) if announced else 0), line


def load_as_module(path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    name = ".".join(path.with_suffix("").parts).removeprefix("src.")
    spec = spec_from_file_location(name, path)
    assert spec and spec.loader
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with torch.random.fork_rng():
        yield


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.name)
def test_a_page_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_blocks(page, monkeypatch)


def test_the_python_of_the_readme_runs_and_erases(monkeypatch: pytest.MonkeyPatch) -> None:
    names = run_blocks(PAGES[0], monkeypatch)
    before, after = names["result"].before, names["result"].after
    assert before.acc_df > 90 and after.acc_df < 10 and after.acc_dr > before.acc_dr - 5
    assert names["scores"].acc_df < before.acc_df


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_on_a_page_parse(page: Path) -> None:
    for words in commands(page.read_text(encoding="utf-8")):
        parse_only(words)


def test_the_readme_shows_every_command() -> None:
    assert {words[0] for words in commands(README)} == set(COMMANDS.commands)


@pytest.mark.parametrize(
    "wrong", ["erase --model a --data b --forget c --out d --dry", "train --data digits", "evalute"]
)
def test_a_wrong_command_would_be_noticed(wrong: str) -> None:
    with pytest.raises(Exception, match=r"No such option|Missing parameter|evalute"):
        parse_only(wrong.split())


def test_the_examples_on_the_command_line_parse() -> None:
    for name in COMMANDS.commands:
        words = shlex.split(sys.modules[f"sublimate.cli.{name}"].EXAMPLE)
        assert words[:2] == ["sublimate", name]
        parse_only(words[1:])


def column(page: str, heading: str) -> list[str]:
    """The first column of the table whose first heading this is."""
    table = page.split(f"\n| {heading} |", 1)[1].split("\n\n", 1)[0]
    return [line.split("|")[1].strip(" `") for line in table.splitlines()[2:]]


def test_the_forms_of_a_request_are_understood() -> None:
    Path("withdrawn.txt").write_text("7\n19  # by mail\n")
    kinds = [type(parse(form)) for form in column(README, "REQUEST")]
    assert kinds == [sm.FullClass, sm.SubClass, sm.RandomFraction, sm.Records, sm.Records]


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md"])
def test_the_exit_codes_are_those_of_the_errors_and_verdicts(page: str) -> None:
    raised = {kind.exit_code for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "exit_code")}
    judged = {Audit.model_construct(verdict=verdict).exit_code for verdict in get_args(Verdict)}
    assert set(map(int, column((ROOT / page).read_text(encoding="utf-8"), "code"))) == raised | judged | {0}


def test_the_tree_around_the_package_is_whole() -> None:
    tree = README.split("and around it:\n\n", 1)[1].split("\n\n", 1)[0]
    lines = [line.removeprefix("    ") for line in tree.splitlines()]
    outer = {line.split()[0].rstrip("/") for line in lines if not line.startswith(" ")}
    inner = {line.split()[0].rstrip("/") for line in lines if line.startswith(" ")}
    assert outer == {"docs", "examples", "benchmarks", "tests"}
    assert inner == {path.name for path in (ROOT / "docs").iterdir() if not path.name.startswith(".")}


def test_the_file_tree_is_that_of_the_package() -> None:
    tree = README.split("    src/sublimate/\n", 1)[1].split("\n\n", 1)[0]
    shown = {line.split()[0].rstrip("/") for line in tree.splitlines()}
    hidden = {"__pycache__", "py.typed"}
    assert shown == {path.name for path in (ROOT / "src/sublimate").iterdir()} - hidden


@pytest.mark.parametrize("page", PAGES + RESULTS, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?://)([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_method_of_contributing_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = next(block for block in blocks(page) if block.path.endswith("fade.py"))
    module = load_as_module(Path(shown.path), shown.text, monkeypatch)
    monkeypatch.setitem(METHODS, "fade", module.Fade)
    data = sm.load("digits")
    model = sm.build("small-cnn", 10, channels=1, size=8)
    split = sm.split(data, "class:3", few=200)
    first, second = (
        sm.method("fade", epochs=1).unlearn(model, split.forget_set, split.few_set, ratios=split.ratios)
        for _ in range(2)
    )
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    assert not torch.equal(next(first.parameters()), next(model.parameters()))


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_an_example_runs(example: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(example)])
    runpy.run_path(str(example), run_name="__main__")
    assert "after" in capsys.readouterr().out
    assert not any(Path().iterdir())  # nothing is left where it ran


def test_the_withdrawal_leaves_a_network_and_a_page_in_a_given_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["withdrawal.py", "given"])
    runpy.run_path(str(ROOT / "examples" / "withdrawal.py"), run_name="__main__")
    assert {path.name for path in Path("given").iterdir()} == {"photos", "erased.pt", "report.html"}
    assert "mira-0" not in Path("given/report.html").read_text(encoding="utf-8")  # records are counted, not named


def test_the_licence_is_whole() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    sections = [int(n) for n in re.findall(r"^   (\d)\. [A-Z]", text, re.MULTILINE)]
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert sections == list(range(1, 10))
    assert "END OF TERMS AND CONDITIONS" in text and text.rstrip().endswith("limitations under the License.")
