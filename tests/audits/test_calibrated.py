"""Evidence record by record: z and RMIA worked by hand, against a slow loop, and on networks that memorise."""

from dataclasses import replace
from math import sqrt

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from sublimate.audits.calibrated import FLOOR, Answers, answers, deviations, extremes, spread, z_scores
from sublimate.audits.rmia import A, fitted_a, rmia, rmia_scores
from sublimate.data import load
from sublimate.data.core import Data
from sublimate.errors import InputRefused
from sublimate.inference import auc
from sublimate.models.registry import build
from sublimate.splits import Part
from sublimate.training import find_recipe, fit

doubles = torch.double


class Says(nn.Module):
    """A network that reads its logits off the image, times a factor."""

    def __init__(self, factor=1.0):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return self.factor * x.flatten(1)


def part_of(rows, n=40):
    x = torch.randn(n, 3, 1, 1, generator=torch.Generator().manual_seed(0))
    data = Data(name="toy", images=x, labels=torch.arange(n) % 3, sizes=(n, 0, 0), classes=("a", "b", "c"))
    return Part(data, torch.tensor(rows, dtype=torch.long), "part")


def group(phi, phi_out, first=0):
    rows = list(range(first, first + len(phi)))
    return Answers(part_of(rows), torch.tensor(phi, dtype=doubles), torch.tensor(phi_out, dtype=doubles))


def test_z_is_the_distance_from_the_references_mean_in_sigmas():
    phi, out = torch.tensor([5.0, 0.0]), torch.tensor([[1.0, 4.0], [3.0, 2.0]])
    assert z_scores(phi, out, sigma=1.5).tolist() == [2.0, -2.0]  # (5 − 2) / 1.5 and (0 − 3) / 1.5


def test_sigma_pools_the_variance_within_records():
    forget, control = group([0.0], [[1.0], [3.0]]), group([0.0], [[2.0], [6.0]], first=1)
    # Within the records the variances are 2 and 8, pooled 5; the mean of two references adds half of it: 7.5.
    assert spread(forget, control) == pytest.approx(sqrt(7.5))
    found = deviations(forget, control)
    assert found.forget.tolist() == pytest.approx([-2 / sqrt(7.5)])
    assert found.control.tolist() == pytest.approx([-4 / sqrt(7.5)])
    assert (found.references, found.extremes.forget_n, found.extremes.control_n) == (2, 1, 1)


def test_sigma_of_one_reference_comes_from_control_alone():
    forget = group([100.0, -70.0], [[0.0, 5.0]])
    control = group([2.0, 4.0, 6.0], [[1.0, 2.0, 3.0]], first=2)  # differences 1, 2, 3: deviation 1
    assert spread(forget, control) == pytest.approx(1.0)
    assert deviations(forget, control).forget.tolist() == pytest.approx([100.0, -75.0])


def test_one_reference_and_one_control_record_are_refused():
    with pytest.raises(InputRefused, match="no spread"):
        spread(group([1.0], [[0.0]]), group([1.0], [[0.0]], first=1))


def test_references_that_agree_meet_the_floor():
    found = z_scores(torch.tensor([1.0]), torch.tensor([[0.0], [0.0]]), sigma=0.0)
    assert found.item() == pytest.approx(1 / FLOOR)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_z_of_a_network_that_never_saw_the_records_has_variance_one(k):
    n, g = 20_000, torch.Generator().manual_seed(k)
    middle = 5 * torch.randn(2 * n, generator=g, dtype=doubles)
    phi, *out = middle + 2 * torch.randn(k + 1, 2 * n, generator=g, dtype=doubles)
    part = part_of([0, 1])
    forget, control = (Answers(part, phi[s], torch.stack(out)[:, s]) for s in (slice(0, n), slice(n, 2 * n)))
    assert float(deviations(forget, control).forget.var()) == pytest.approx(1.0, abs=0.03)


def test_fishers_p_by_hand():
    # 3 of 4 against 0 of 4: of the C(8, 3) = 56 tables 4 have all three on the one side and 4 on the other.
    found = extremes(torch.tensor([9.0, -4.0, 3.5, 3.0]), torch.tensor([0.0, 1.0, -3.0, 2.9]))
    assert (found.forget, found.forget_n, found.control, found.control_n) == (3, 4, 0, 4)
    assert found.p == pytest.approx(8 / 56)


def test_answers_are_the_networks_confidences():
    part = part_of([3, 4, 5, 6])
    found = answers(Says(), [Says(2.0), Says(-1.0)], part)
    x = part.data.read(part.rows)[0].flatten(1).double()
    for p, factor in zip([found.p, *found.p_out], (1, 2, -1), strict=True):
        assert torch.allclose(p, (factor * x).softmax(1).gather(1, part.labels[:, None])[:, 0], atol=1e-6)
    with pytest.raises(InputRefused, match="no reference"):
        answers(Says(), [], part)


def test_rmia_by_hand():
    # a = 0: p = (p_out + 1) / 2.  Of x: .9 / .75 = 1.2.  Of z: .5 / .75 = .67, .9 / .75 = 1.2, .8 / .5 = 1.6.
    p_z, p_z_out = torch.tensor([0.5, 0.9, 0.8]), torch.tensor([[0.5, 0.5, 0.0]])
    found = rmia(torch.tensor([0.9]), torch.tensor([[0.5]]), p_z, p_z_out, a=0.0)
    assert found.tolist() == [2 / 3]
    # a = 1: p = p_out, here the mean of two references.  Of x: .6 / .6 = 1.
    found = rmia(torch.tensor([0.6]), torch.tensor([[0.4], [0.8]]), p_z, p_z_out + 0.5, a=1.0)  # .5, .9, 1.6
    assert found.tolist() == [2 / 3]


def slow_counts(p_x, p_x_out, p_z, p_z_out, a, gamma):
    """The formula, pair by pair."""

    def expected(out):
        return ((1 + a) * out.mean() + (1 - a)) / 2

    counts = []
    for i in range(len(p_x)):
        ratios = [
            (p_x[i] / expected(p_x_out[:, i])) / (p_z[j] / expected(p_z_out[:, j])) >= gamma for j in range(len(p_z))
        ]
        counts.append(int(sum(ratios)))
    return counts


@given(
    n=st.integers(1, 12),
    m=st.integers(1, 33),
    k=st.integers(1, 3),
    a=st.sampled_from([0.0, 0.3, 0.77, 1.0]),
    gamma=st.sampled_from([0.5, 1.0, 1.1, 2.0]),
    levels=st.sampled_from([3, 10, 1_000_000]),  # few levels: many ties, and probabilities of 0 and 1
    seed=st.integers(0, 2**31),
)
def test_rmia_counts_equal_the_slow_loop(n, m, k, a, gamma, levels, seed):
    g = torch.Generator().manual_seed(seed)
    p_x, p_z, p_x_out, p_z_out = (
        torch.randint(levels + 1, shape, generator=g).double() / levels for shape in ((n,), (m,), (k, n), (k, m))
    )
    found = rmia(p_x, p_x_out, p_z, p_z_out, a, gamma)
    assert found.tolist() == [count / m for count in slow_counts(p_x, p_x_out, p_z, p_z_out, a, gamma)]


def test_a_is_fitted_by_least_squares_within_its_bounds():
    p_out = torch.tensor([[0.2, 0.4], [0.4, 0.8]])  # means .3 and .6
    assert fitted_a(torch.tensor([0.79, 0.88]), p_out) == pytest.approx(0.3)  # .3 · .3 + .7 and .3 · .6 + .7
    assert fitted_a(torch.tensor([1.0, 1.0]), p_out) == 0.0
    assert fitted_a(torch.tensor([0.0, 0.1]), p_out) == 1.0
    assert fitted_a(torch.tensor([0.9]), torch.tensor([[1.0]])) == A


def test_rmia_of_groups_needs_a_population_of_its_own():
    forget, control = group([1.0, 2.0], [[0.0, 0.0]]), group([3.0], [[1.0]], first=2)
    population = group([1.0, 1.0, 5.0], [[0.0, 1.0, 1.0]], first=3)
    found = rmia_scores(forget, control, population, a=0.5)
    expected = rmia(control.p, control.p_out, population.p, population.p_out, 0.5)
    assert torch.equal(found.control, expected) and len(found.forget) == 2 and found.population == 3
    for shared in (group([1.0], [[0.0]], first=1), group([1.0], [[0.0]], first=2), group([], [[]])):
        with pytest.raises(InputRefused, match="population"):
            rmia_scores(forget, control, shared)


@pytest.fixture(scope="session")
def memorised():
    """Digits with wrong labels: 40 trained on (forget), 100 never; an original, two references and one Retrain."""
    data = load("digits")
    wrong, kept = data.train[:140], data.train[140:290]
    labels = data.labels.clone()
    labels[wrong] = (labels[wrong] + 1 + torch.arange(140) % 9) % 10
    data = replace(data, labels=labels)

    def trained(rows, seed):
        recipe = find_recipe("fast", epochs=12, batch_size=48, views="none")
        return fit(lambda: build("small-cnn", 10, channels=1, size=8), Part(data, rows, "train"), recipe, seed=seed)[0]

    networks = [trained(torch.cat([wrong[:40], kept]), 0), *(trained(kept, seed) for seed in (1, 2, 3))]
    return networks, [Part(data, rows, "part") for rows in (wrong[:40], wrong[40:], data.test)]


def test_the_original_shows_and_retrain_does_not(memorised):
    (original, retrained, *references), parts = memorised
    mine, honest = ([answers(network, references, part) for part in parts] for network in (original, retrained))
    a = fitted_a(mine[0].p, mine[0].p_out)
    leak, clean = deviations(*mine[:2]), deviations(*honest[:2])
    assert auc(leak.forget, leak.control) > 0.85 and leak.extremes.p < 0.001
    assert 0.35 < auc(clean.forget, clean.control) < 0.65 and clean.extremes.p > 0.05
    leak, clean = rmia_scores(*mine, a=a), rmia_scores(*honest, a=a)
    assert auc(leak.forget, leak.control) > 0.9
    assert 0.35 < auc(clean.forget, clean.control) < 0.65
    one = deviations(*(answers(original, references[:1], part) for part in parts[:2]))
    assert one.references == 1 and auc(one.forget, one.control) > 0.85
