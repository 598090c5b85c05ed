"""Results as Markdown, LaTeX and CSV: exact strings from hand-made rows."""

from __future__ import annotations

import csv as csvlib
import io
import re

import pytest
from own_digits import METHODS, REQUESTS, row

from sublimate.bench.experiments import parse
from sublimate.bench.results import Audited, Row, Timing
from sublimate.bench.schema import Experiment
from sublimate.bench.summary import Summary, summarise
from sublimate.report.bench.latex import escape
from sublimate.report.bench.text import csv, latex, markdown

HEAD = """
id = "own/digits"
title = "Mine"
source = "Table 1"
note = "Not clean."
contaminated.random = "it saw some of D_f."
remarks = [{ text = "rounded.", measures = ["acc_df"] }, { text = "unheard.", measures = ["mia"] }]
"""
PAPER = """
paper = { data = "cifar10", request = "random@10%", model = "vgg16-bn", recipe = "paper", views = "simple", few = 9 }
"""
HOSTILE = "=cmd|'/C x'!A0 <b>*_$%&#{}~^\\ [x](y)"


def timing(label: str, seconds: float) -> Timing:
    return Timing(
        experiment="own/digits", edition="smoke", scenario="random", data="digits", views="none", model="small-cnn",
        label=label, seed=0, seconds=seconds, threads=1, host="here", at="then",
    )  # fmt: skip


def declared(*settings: tuple[str, str], kind: str = "scores", measures: str = "acc_df mia") -> Experiment:
    """An experiment with settings of these scenarios and views; Siamese is reported with 99.5 in the first measure."""
    blocks = "".join(
        f'[[settings]]\nscenario = "{scenario}"\nsmoke = {{ data = "digits", request = "{REQUESTS[scenario]}", '
        f'model = "small-cnn", recipe = "fast", views = "{views}", few = 9 }}\n'
        + (PAPER if (scenario, views) == ("random", "none") else "")
        for scenario, views in settings or [("random", "none")]
    )
    shown = f'kind = "{kind}"\nmeasures = {measures.split()}\n'
    return parse(HEAD + shown + blocks + METHODS.replace("MEASURE", measures.split()[0]), place="own.toml")


def told(experiment: Experiment | None = None, rows: list[Row] | None = None) -> Summary:
    """Two seeds.  Siamese has 79 and 81, distances −1 and +1: mean 80 and 0, and t.975 with one degree is 12.706."""
    if rows is None:
        acc = {
            "Original": (100, 100),
            "Retrain": (80, 80),
            "Siamese": (79, 81),
            "Finetune": (82, 82),
            "SCRUB": (80, 80),
        }
        rows = [
            row(
                label, seed, figures={"acc_df": float(figure)} | ({"samples": 1200} if label == "Siamese" else {}),
                gap={"acc_df": figure - 80.0}, failed="It | fell." if (label, seed) == ("SCRUB", 1) else None,
                audit=Audited(verdict=("PASS", "FAIL")[seed], tier=1) if label == "Siamese" else None,
                tow=0.99 if label == "Siamese" else None,
            )
            for label, both in acc.items() for seed, figure in enumerate(both)
        ]  # fmt: skip
    return summarise(rows, [timing("Retrain", 3000.0), timing("Siamese", 12.0)], experiment or declared())


def test_markdown_by_hand():
    assert (
        markdown(told())
        == """\
## Mine (Table 1)

### random · digits · small-cnn · none · random@10% · edition smoke

| Approach | Acc_Df | ToW | Seconds | RTE | Images read | Audit |
| --- | --- | --- | --- | --- | --- | --- |
| Original | 100.00 ± 0.00 (+20.00 ± 0.00) | – | – | – | – | – |
| Retrain | 80.00 ± 0.00 | – | 3,000.0 | 1.0 | – | – |
| Siamese | 99.50§‡ / **80.00** ± 12.71 (0.00 ± 12.71) | 0.990 ± 0.000 | 12.0 | 250.0 | 1,200 | 1 PASS, 1 FAIL |
| Finetune | <ins>82.00</ins> ± 0.00 (+2.00 ± 0.00) | – | – | – | – | – |
| SCRUB † | 80.00 ± 0.00 (0.00 ± 0.00) | – | – | – | – | – |

- Not clean.
- Means over 2 seeds, ± half the width of the 95 % t interval.
- In brackets: distance to Retrain of the same seed, in points; near 0 is good, on both sides.
- Nearest to Retrain by the digits shown: bold; second nearest: underlined.
- † SCRUB failed in 1 of 2 seeds, never ranked; the last good network is shown. It \\| fell.
- Before the slash: as reported by the paper, Table 1 (vgg16-bn on cifar10, simple views); after it: measured.
- § Reported reference contaminated: it saw some of D_f.
- ‡ Acc_Df: rounded.
- ToW: product of 1 - distance to Retrain over Acc_Df, Acc_Dr and test accuracy; 1 is Retrain.
- Images read: by the method in all its passes, probes for its values included.
- Audit: verdicts of tier 1 over the seeds, on at most 5,000 records of each part.
- Seconds: median, of the method alone (1 thread).
- RTE: seconds of Retrain / seconds of the method, median over seeds.
"""
    )


def test_latex_by_hand():
    caption = r"random $\cdot$ digits $\cdot$ small-cnn $\cdot$ none $\cdot$ random@10\% $\cdot$ edition smoke"
    assert caption in latex(told())
    start, _, notes = latex(told()).replace(caption, "CAPTION").partition("\\par\\raggedright\\footnotesize\n")
    assert (
        start
        == r"""% needs booktabs, graphicx and amssymb

\begin{table}[t]
\centering
\caption{Mine (Table 1): CAPTION.}
\label{tab:own-digits}
\resizebox{\linewidth}{!}{%
\begin{tabular}{lcccccc}
\toprule
\textbf{Approach} & $\mathrm{Acc}_{\mathcal{D}_f}$ & ToW & Seconds & RTE & Images read & Audit \\
\midrule
Original & ${100.00 \pm 0.00}_{(+20.00 \pm 0.00)}$ & -- & -- & -- & -- & -- \\
Retrain & $80.00 \pm 0.00$ & -- & 3,000.0 & 1.0 & -- & -- \\
\midrule
Siamese & $99.50^{\S\ddagger}$ / ${\mathbf{80.00} \pm 12.71}_{(0.00 \pm 12.71)}$ & $0.990 \pm 0.000$ & 12.0 & """
        + (
            r"""250.0 & 1,200 & 1 PASS, 1 FAIL \\
Finetune & ${\underline{82.00} \pm 0.00}_{(+2.00 \pm 0.00)}$ & -- & -- & -- & -- & -- \\
SCRUB $\dagger$ & ${80.00 \pm 0.00}_{(0.00 \pm 0.00)}$ & -- & -- & -- & -- & -- \\
\bottomrule
\end{tabular}}
"""
        )
    )
    assert notes.startswith("Not clean.\\par\n") and r"$\ddagger$ Acc\_Df: rounded.\par" in notes
    assert (
        r"\S{} Reported reference contaminated: it saw some of D\_f.\par" in notes
        and r"It \textbar{} fell.\par" in notes
    )
    assert notes.endswith("\\par\n\\end{table}\n")


def test_csv_by_hand():
    lines = {line["label"]: line for line in csvlib.DictReader(io.StringIO(csv(told())))}
    assert list(lines) == ["Original", "Retrain", "Siamese", "Finetune", "SCRUB"]
    filled = {name: value for name, value in lines["Siamese"].items() if value}
    assert filled == {
        "experiment": "own/digits", "edition": "smoke", "scenario": "random", "data": "digits", "model": "small-cnn",
        "views": "none", "request": "random@10%", "label": "Siamese", "method": "siamese", "few": "9", "seeds": "2",
        "failed": "0", "acc_df": "80.0", "acc_df_low": "67.293795", "acc_df_high": "92.706205",
        "acc_df_reported": "99.5", "acc_df_reported_sign": "§‡",
        "acc_df_gap": "0.0", "acc_df_gap_low": "-12.706205", "acc_df_gap_high": "12.706205",
        "acc_df_mark": "best", "tow": "0.99", "tow_low": "0.99", "tow_high": "0.99", "seconds": "12.0",
        "efficiency": "250.0", "samples": "1200.0", "pass": "1", "fail": "1", "inconclusive": "0", "note": "Not clean.",
    }  # fmt: skip
    assert (lines["SCRUB"]["failed"], lines["SCRUB"]["cause"], lines["SCRUB"]["acc_df_mark"]) == ("1", "It | fell.", "")
    assert {"mia", "mia_low", "mia_high", "mia_reported", "mia_gap", "epoch"} <= set(lines["Retrain"])


def test_one_seed_has_no_interval():
    text = markdown(told(rows=[row("Siamese", figures={"acc_df": 1.0}, gap={"acc_df": -3.0})]))
    assert "| Siamese | 99.50§‡ / **1.00** (-3.00) | 12.0 |" in text
    assert "- One seed.\n" in text and "±" not in text


def test_seeds_are_told_where_they_differ():
    rows = [row("Siamese", seed, figures={"mia": 1.0}) for seed in (0, 1)] + [row("SCRUB", figures={"mia": 2.0})]
    text = markdown(told(rows=rows))
    assert "| SCRUB | – | 2.00 | – | 1 |" in text and "Means over 1 to 2 seeds" in text


def test_hostile_names_in_markdown():
    text = markdown(told(rows=[row(HOSTILE, method="scrub", failed="a | b\n# c", figures={"mia": 1.0})]))
    line = next(line for line in text.splitlines() if "cmd" in line and line.startswith("|"))
    assert line == r"| \=cmd\|'/C x'\!A0 \<b>\*\_$%\&#{}\~^\\ \[x\](y) † | 1.00 |"
    assert r"is shown. a \| b�# c" in text


def test_hostile_names_in_latex():
    text = latex(told(rows=[row(HOSTILE, method="scrub", figures={"mia": 1.0})]))
    line = next(line for line in text.splitlines() if line.startswith("=cmd"))
    assert line == (
        r"=cmd\textbar{}'/C x'!A0 \textless{}b\textgreater{}{*}\_\$\%\&\#\{\}\textasciitilde{}\textasciicircum{}"
        r"\textbackslash{} {[}x](y) & 1.00 \\"
    )


@pytest.mark.parametrize("label", ["[2cm]", "*", "\\\\", "%", "}", "$", "&", "\\input{x}", "^^M"])
def test_latex_stays_in_balance(label):
    shown = escape(label)
    bare = re.sub(r"\\[#$%&_{}]", "", shown)  # what is escaped counts for nothing
    assert bare.count("{") == bare.count("}")
    assert not re.search(r"[%&#~^_]", bare) and bare.count("$") == 0
    assert not re.match(r"[\[*]", shown)  # after the end of a line both would be its arguments
    assert set(re.findall(r"\\([a-zA-Z]+)", shown)) <= {"textbackslash", "textasciicircum"}


@pytest.mark.parametrize("start", ["=", "+", "-", "@", " =", "＝", "\t=", "\r="])
def test_formulas_are_defused_in_csv(start):
    (line,) = csvlib.DictReader(io.StringIO(csv(told(rows=[row(f"{start}1+1", method="scrub")]))))
    assert line["label"].startswith(("'", "�"))
    assert line["label"].lstrip("'�").strip() == f"{start}1+1".strip()


def test_csv_quotes_what_would_break_a_line():
    (line,) = csvlib.DictReader(io.StringIO(csv(told(rows=[row('a,"b"\nc', method="scrub")]))))
    assert line["label"] == 'a,"b"�c'


def test_divergences_stand_in_one_table_by_scenario_and_views():
    settings = ("random", "none"), ("random", "cutout"), ("full-class", "none")
    rows = [
        row("Siamese", kind="kl", scenario=s, views=v, request=REQUESTS[s], figures={"kl_dr": 0.00004, "kl_df": 1.5})
        for s, v in settings
    ]
    shown = told(declared(*settings, kind="kl", measures="kl_dr kl_df"), rows)
    assert markdown(shown).splitlines()[2:9] == [
        "### digits · small-cnn · edition smoke",
        "",
        "| Scenario | Views | KL D_r | KL D_f |",
        "| --- | --- | --- | --- |",
        "| random | none | 99.5000§ / 0.0000 | 1.5000 |",
        "|  | cutout | 99.5000§ / 0.0000 | 1.5000 |",
        "| full-class | none | 0.0000 | 1.5000 |",
    ]
    assert r"$99.5000^{\S}$ / $0.0000$ & 1.5000 \\" "\n\\midrule\nfull-class & none" in latex(shown)


def test_views_stand_in_one_table_before_and_after():
    rows = [row(m, views=v, figures={"mia": 5.0}) for v in ("none", "cutout") for m in ("Original", "SCRUB")]
    shown = told(declared(("random", "none"), ("random", "cutout")), rows)
    assert markdown(shown).splitlines()[4:10] == [
        "| Views | Approach | MIA |",
        "| --- | --- | --- |",
        "| none | Original | 5.00 |",
        "|  | SCRUB | 5.00 |",
        "| cutout | Original | 5.00 |",
        "|  | SCRUB | 5.00 |",
    ]


def test_terms_are_checked_where_variants_of_siamese_differ():
    variants = {"all": {}, "no CE": {"lam": 0.0}, "CE": {"kvc": 0.0, "permutation": "uniform"}}
    rows = [row(name, method="siamese", options=options, figures={"mia": 5.0}) for name, options in variants.items()]
    rows += [row("Retrain", figures={"mia": 6.0})]
    shown = told(rows=rows)
    assert [line[:-1] for line in markdown(shown).splitlines()[4:10]] == [
        "| Approach | KVC | CE | ALP | MIA | Seconds | RTE ",
        "| --- | --- | --- | --- | --- | --- | --- ",
        "| Retrain |  |  |  | 6.00 | 3,000.0 | 1.0 ",
        "| CE |  | ✓ |  | 5.00 | – | – ",
        "| all | ✓ | ✓ | ✓ | 5.00 | – | – ",
        "| no CE | ✓ |  |  | 5.00 | – | – ",
    ]
    assert r"all & $\checkmark$ & $\checkmark$ & $\checkmark$ & 5.00" in latex(shown)
    assert "KVC" not in markdown(told(rows=rows[:1]))


def test_curves_have_a_line_per_epoch():
    rows = [row("SCRUB", kind="curve", epoch=e, figures={"mia": e / 2}) for e in (0.0, 1.0)]
    text = markdown(told(declared(kind="curve"), rows))
    assert "| Approach | Epoch | MIA |" in text and "| SCRUB | 1 | 0.50 |" in text


def test_what_has_no_table_says_so():
    for shown in (told(rows=[]), told(declared(kind="tsne"), [row("SCRUB")])):
        assert markdown(shown).startswith("## Mine (Table 1)\n\nThere is nothing to put into a table")
        assert markdown(shown).endswith("\n\nNot clean.\n")
        assert latex(shown).splitlines()[-1].startswith("% There is nothing")
    assert csv(told(rows=[])) == "\n"


def test_the_note_stands_below_every_table_with_or_without_reported_figures():
    shown = told(rows=[row("SCRUB", figures={"mia": 5.0})])
    assert "- Not clean.\n" in markdown(shown) and "Not clean.\\par" in latex(shown)
    assert "§" not in markdown(shown) and "‡" not in markdown(shown)


def test_footnotes_are_told_once_in_markdown_and_with_every_table_in_latex():
    rows = [row("SCRUB", scenario=s, request=r, figures={"mia": 5.0}, failed="No.") for s, r in REQUESTS.items()]
    shown = told(declared(("random", "none"), ("full-class", "none")), rows)
    assert (markdown(shown).count("One seed."), latex(shown).count("One seed.")) == (1, 2)
    assert markdown(shown).count("† SCRUB failed") == 2
    assert latex(shown).count(r"\label{tab:own-digits-2}") == 1


def test_seeds_that_failed_for_several_reasons_are_counted_together():
    causes = {0: "It fell.", 1: None, 2: "It broke.", 3: "It fell."}
    rows = [row("SCRUB", seed=seed, figures={"mia": 5.0}, failed=cause) for seed, cause in causes.items()]
    shown = markdown(told(rows=rows))
    assert "SCRUB failed in 3 of 4 seeds, never ranked; the last good network is shown. It broke. It fell.\n" in shown
    assert shown.count("SCRUB failed") == 1


def test_what_was_reported_but_not_measured_is_no_formula_in_latex():
    shown = latex(told(rows=[row("Siamese", figures={"mia": 1.0})]))
    assert r"Siamese & $99.50^{\S\ddagger}$ / -- & 1.00" in shown and "–" not in shown
