import io

import pytest
from rich.console import Console

from sublimate.audits.evaluation import MEANING, Scores
from sublimate.errors import InputRefused
from sublimate.report.rows import Row, Story
from sublimate.report.tables import kind, meaning_lines, score_table, shown, signed
from sublimate.unlearn.base import Record

ORIGINAL = Row(name="Original", scores=Scores(acc_dr=99.0, acc_df=98.0, ta=90.0, mia=97.5))
RETRAIN = Row(name="Retrain", scores=Scores(acc_dr=99.5, acc_df=85.0, ta=88.0, mia=50.0), seconds=4000.04)
SIAMESE = Row(name="Siamese", scores=Scores(acc_dr=99.496, acc_df=86.5, ta=87.0), seconds=61.26, samples=58240)


def tell(*rows: Row, reference: str | None = None, title: str = "t") -> Story:
    return Story(
        title=title,
        request="random@10%",
        data="digits",
        model="small-cnn",
        split="f00d",
        counts={"forget": 10},
        rows=rows,
        reference=reference,
    )


def printed(story: Story, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(score_table(story))
    return console.file.getvalue()


def cells(story: Story) -> dict[str, list[str]]:
    return {str(column.header): [str(cell) for cell in column.cells] for column in score_table(story).columns}


def test_figures_and_gaps_by_hand() -> None:
    assert cells(tell(ORIGINAL, RETRAIN, SIAMESE, reference="Retrain")) == {
        "Network": ["Original", "Retrain", "Siamese"],
        "Acc_Dr": ["99.00 (-0.5)", "99.50", "99.50 (0.0)"],
        "Acc_Df": ["98.00 (+13.0)", "85.00", "86.50 (+1.5)"],
        "TA": ["90.00 (+2.0)", "88.00", "87.00 (-1.0)"],
        "MIA": ["97.50 (+47.5)", "50.00", "–"],
        "Seconds": ["–", "4,000.0", "61.3"],
        "Images\nread": ["–", "–", "58,240"],
    }


def test_columns_without_any_value_are_left_out() -> None:
    assert list(cells(tell(Row(name="a", scores=Scores(ta=1.0)), Row(name="b", scores=Scores())))) == ["Network", "TA"]
    assert list(cells(tell(Row(name="a", scores=Scores(), seconds=0.0)))) == ["Network", "Seconds"]
    assert list(cells(tell())) == ["Network"]


def test_no_number_counts_as_no_value() -> None:
    story = tell(Row(name="a", scores=Scores(ta=float("nan"), mia=3.0)))
    assert shown(story) == ["mia"]


def test_without_reference_there_are_no_gaps() -> None:
    table = printed(tell(ORIGINAL, RETRAIN))
    assert "(" not in table and "99.50" in table


def test_missing_reference_is_refused() -> None:
    with pytest.raises(InputRefused, match=r"No row 'Retrian'.*nearest first: Retrain"):
        score_table(tell(RETRAIN, reference="Retrian"))


@pytest.mark.parametrize("name", ["[red]x[/red]", "[/]", "x\\", ":cat:", "[link=file:x]y[/link]"])
def test_names_are_not_read_as_markup(name: str) -> None:
    table = printed(tell(Row(name=name, scores=Scores(ta=1.0)), reference=name, title=name))
    assert table.count(name) == 3  # title, line, caption


def test_names_cannot_steer_the_terminal() -> None:
    table = printed(tell(Row(name="a\x1b[2Jb\r\nc", scores=Scores(ta=1.0))))
    assert "\x1b[2J" not in table and "a�[2Jb��c" in table


def test_nothing_is_cut_at_80_columns() -> None:
    whole = Row(
        name="Original",
        scores=Scores(acc_dr=99.6, acc_df=99.7, ta_dr=91.4, ta_df=93.1, ta=91.9, mia=97.4),
        seconds=4311.2,
        samples=6370000,
    )
    none = Row(name="Retrain", scores=Scores(**dict.fromkeys(MEANING, 0.0)))
    table = printed(tell(whole, none, reference="Retrain"), width=80)
    words = ["99.60", "(+99.6)", "99.70", "91.40", "93.10", "91.90", "(+91.9)", "97.40", "4,311.2", "6,370,000"]
    assert all(word in table for word in words)
    assert max(map(len, table.splitlines())) <= 80


def test_names_of_methods_are_not_broken_at_80_columns() -> None:
    row = Row(name="boundary-expand", scores=Scores(**dict.fromkeys(MEANING, 0.0)), seconds=4311.2, samples=637000)
    goal = Row(name="Retrain", scores=Scores(**dict.fromkeys(MEANING, 99.5)))
    assert "boundary-expand" in printed(tell(goal, row, reference="Retrain"), width=80)


def test_meaning_is_told_of_the_shown_figures_only() -> None:
    lines = meaning_lines(tell(Row(name="a", scores=Scores(acc_df=1.0, mia=2.0))))
    assert [line.partition(":")[0] for line in lines] == ["Acc_Df", "MIA"]
    assert lines[1].endswith("near Retrain is good, 0 is not.")


def test_kinds() -> None:
    by_method = Row(name="mine", scores=Scores(), record=Record(method="original", options={}))
    retrained = Row(name="again.pt", scores=Scores(), record=Record(method="retrain", options={}))
    story = tell(ORIGINAL, RETRAIN, SIAMESE, by_method, retrained, reference="Siamese")
    assert [kind(story, row) for row in story.rows] == ["original", "reference", "reference", "original", "reference"]
    assert kind(tell(SIAMESE), SIAMESE) == "erased"


def test_signed_has_no_negative_nought() -> None:
    assert [signed(v) for v in (-0.004, 0.004, -0.006, 12.0)] == ["0.00", "0.00", "-0.01", "+12.00"]
