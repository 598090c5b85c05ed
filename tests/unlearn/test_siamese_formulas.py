"""Equations 3 to 7 of the paper: values worked out by hand, slow references, frequencies."""

import math

import pytest
import torch
from scipy.stats import chi2
from torch import nn

from sublimate.unlearn.labels import another, flip_probability, permute
from sublimate.unlearn.terms import concentration, d, predictor, sce, vaporization

# Two records, two classes.  Record one: p1 = (3, 4), p2 = (1, 0), l1 = (0, 2), l2 = (1, 1).
#                           Record two: p1 = (1, 0), p2 = (0, 1), l1 = (−5, 0), l2 = (2, 0).
P1, P2 = torch.tensor([[3.0, 4.0], [1.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
L1, L2 = torch.tensor([[0.0, 2.0], [-5.0, 0.0]]), torch.tensor([[1.0, 1.0], [2.0, 0.0]])
# d(p1, l2): −(3·1 + 4·1)/(5·√2) = −7/(5√2) = −0.9899495 and −(1·2)/(1·2) = −1; the mean is −0.9949747.
D_12 = -0.9949747
# d(p2, l1): −(1·0 + 0·2)/(1·2) = 0 and −(0·(−5) + 1·0)/(1·5) = 0; the mean is 0.
D_21 = 0.0
# L_KC = (D_12 + D_21)/2 = −0.4974874, L_KV = +0.4974874.
L_KC = -0.4974874


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=seeded(seed), dtype=torch.float64)


def test_eq_3_by_hand():
    assert d(P1, L2).item() == pytest.approx(D_12, abs=1e-6)
    assert d(P2, L1).item() == pytest.approx(D_21, abs=1e-6)


def test_eq_4_and_5_by_hand():
    assert concentration(P1, P2, L1, L2).item() == pytest.approx(L_KC, abs=1e-6)
    assert vaporization(P1, P2, L1, L2).item() == pytest.approx(-L_KC, abs=1e-6)


def test_each_prediction_meets_the_other_view():
    # l1 and l2 exchanged: d(p1, l1) = −(8/(5·2) + (−5)/5)/2 = −(0.8 − 1)/2 = 0.1
    #                      d(p2, l2) = −(1/√2 + 0)/2 = −0.3535534;  the sum over 2: −0.1267767.
    assert concentration(P1, P2, L2, L1).item() == pytest.approx(-0.1267767, abs=1e-6)


def test_eq_6_by_hand():
    # CE((0, 2), 1) = ln(1 + e⁻²) = 0.1269280    CE((−5, 0), 0) = 5 + ln(1 + e⁻⁵) = 5.0067153    mean 2.5668217
    # CE((1, 1), 1) = ln 2        = 0.6931472    CE((2, 0), 0)  = ln(1 + e⁻²)     = 0.1269280    mean 0.4100376
    # SCE = (2.5668217 + 0.4100376)/2 = 1.4884296
    y = torch.tensor([1, 0])
    assert sce(L1, L2, y, y).item() == pytest.approx(1.4884296, abs=1e-6)


def test_eq_6_with_one_label_per_view():
    # As above for l1; for l2 with the labels (0, 1): CE((1, 1), 0) = ln 2, CE((2, 0), 1) = 2 + ln(1 + e⁻²) = 2.1269280,
    # mean 1.4100376; SCE = (2.5668217 + 1.4100376)/2 = 1.9884296.
    assert sce(L1, L2, torch.tensor([1, 0]), torch.tensor([0, 1])).item() == pytest.approx(1.9884296, abs=1e-6)


@pytest.mark.parametrize(
    ("permutation", "expected"),
    [
        # K = 4, r = (0, .1, .5, 1): eq. 7 keeps (1/r)/((1/r) + K − 1) = 1, 10/13, 2/5, 1/4.
        ("paper", [0.0, 3 / 13, 3 / 5, 3 / 4]),
        ("authors", [0.0, 0.1, 0.5, 1.0]),
        ("retained", [0.0, 0.1, 0.5, 1.0]),
        ("uniform", [3 / 4] * 4),
        ("none", [0.0] * 4),
    ],
)
def test_eq_7_by_hand(permutation, expected):
    found = flip_probability(torch.tensor([0.0, 0.1, 0.5, 1.0]), permutation)
    assert found.tolist() == pytest.approx(expected, abs=1e-6)


def slow_cosine(p, l):  # noqa: E741
    dot = sum(float(a) * float(b) for a, b in zip(p, l, strict=True))
    return dot / (math.sqrt(sum(float(a) ** 2 for a in p)) * math.sqrt(sum(float(b) ** 2 for b in l)))


def slow_cross_entropy(l, y):  # noqa: E741
    top = max(map(float, l))
    return top + math.log(sum(math.exp(float(v) - top) for v in l)) - float(l[y])


@pytest.mark.parametrize(("n", "K"), [(1, 2), (5, 10), (64, 100)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_batched_losses_are_means_of_a_loop_over_the_records(n, K, dtype):
    p1, p2, l1, l2 = (3 * normal(n, K, seed=seed) for seed in range(4))
    y1, y2 = (torch.randint(K, (n,), generator=seeded(seed)) for seed in (4, 5))
    kc = sum(-(slow_cosine(p1[i], l2[i]) + slow_cosine(p2[i], l1[i])) / 2 for i in range(n)) / n
    ce = sum((slow_cross_entropy(l1[i], y1[i]) + slow_cross_entropy(l2[i], y2[i])) / 2 for i in range(n)) / n
    given = [tensor.to(dtype) for tensor in (p1, p2, l1, l2)]
    assert concentration(*given).item() == pytest.approx(kc, abs=1e-6)
    assert vaporization(*given).item() == pytest.approx(-kc, abs=1e-6)
    assert sce(given[2], given[3], y1, y2).item() == pytest.approx(ce, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_only_directions_count(factor):
    p1, p2, l1, l2 = (normal(8, 10, seed=seed) for seed in range(4))
    once = concentration(p1, p2, l1, l2).item()
    assert concentration(factor * p1, p2, l1, factor * l2).item() == pytest.approx(once, abs=1e-12)
    assert -1 <= once <= 1


def test_concentration_is_least_where_views_agree_and_vaporization_greatest():
    l = normal(8, 10)  # noqa: E741
    assert concentration(l, l, l, l).item() == pytest.approx(-1)
    assert vaporization(l, l, l, l).item() == pytest.approx(1)
    assert concentration(-l, -l, l, l).item() == pytest.approx(1)


def test_logits_of_zero_have_no_direction_and_a_finite_gradient():
    p = torch.zeros(2, 3, requires_grad=True)
    loss = concentration(p, p, torch.zeros(2, 3), torch.zeros(2, 3))
    loss.backward()
    assert loss.item() == 0 and bool(torch.isfinite(p.grad).all())


@pytest.mark.parametrize(("loss", "sign"), [(concentration, 1.0), (vaporization, -1.0)])
def test_no_gradient_flows_where_the_paper_stops_it(loss, sign):
    p1, p2, l1, l2 = (normal(6, 5, seed=seed).requires_grad_() for seed in range(4))
    loss(p1, p2, l1, l2).backward()
    assert l1.grad is None and l2.grad is None
    for variable, target in ((p1, l2), (p2, l1)):
        p, l = variable.detach(), target.detach()  # noqa: E741
        for i in range(6):
            # ∂cos/∂p = l/(|p||l|) − (p·l) p/(|p|³|l|); each record has the weight 1/n, each view 1/2.
            size_p, size_l = (math.sqrt(float((v[i] ** 2).sum())) for v in (p, l))
            dot = sum(float(p[i, k]) * float(l[i, k]) for k in range(5))
            for k in range(5):
                slope = float(l[i, k]) / (size_p * size_l) - dot * float(p[i, k]) / (size_p**3 * size_l)
                assert float(variable.grad[i, k]) == pytest.approx(-sign * slope / 2 / 6, abs=1e-12)


@pytest.mark.parametrize("loss", [concentration, vaporization])
def test_through_the_predictor_the_gradient_is_that_of_fixed_targets(loss):
    torch.manual_seed(0)
    h = predictor(4, 8).double().eval()
    with torch.no_grad():
        h[1].running_mean.copy_(normal(8, seed=7))
    l1, l2 = (normal(3, 4, seed=seed).requires_grad_() for seed in (1, 2))
    loss(h(l1), h(l2), l1, l2).backward()
    fixed1, fixed2 = l1.detach().clone(), l2.detach().clone()

    def value(moved1, moved2):
        with torch.no_grad():
            return float(loss(h(moved1), h(moved2), fixed1, fixed2))

    for which, view in enumerate((l1, l2)):
        for i in range(3):
            for k in range(4):
                step = torch.zeros(3, 4, dtype=torch.float64)
                step[i, k] = 1e-6
                ways = [(fixed1 + s * step, fixed2) if which == 0 else (fixed1, fixed2 + s * step) for s in (1, -1)]
                slope = (value(*ways[0]) - value(*ways[1])) / 2e-6
                assert float(view.grad[i, k]) == pytest.approx(slope, abs=1e-7)


def test_cross_entropy_flows_through_both_views():
    l1, l2 = (normal(3, 4, seed=seed).requires_grad_() for seed in (1, 2))
    y1, y2 = torch.tensor([0, 3, 1]), torch.tensor([2, 2, 0])
    sce(l1, l2, y1, y2).backward()
    for view, y in ((l1, y1), (l2, y2)):
        for i in range(3):
            powers = [math.exp(value) for value in view[i].tolist()]
            for k in range(4):
                slope = powers[k] / sum(powers) - (k == int(y[i]))
                assert float(view.grad[i, k]) == pytest.approx(slope / 2 / 3, abs=1e-12)


DRAWS = 100_000
KEEP = {  # probability that a label is kept, from r and K
    "paper": lambda r, K: 1 / (1 + (K - 1) * r),
    "authors": lambda r, K: 1 - r,
    "retained": lambda r, K: 1 - r,
    "uniform": lambda r, K: 1 / K,
    "none": lambda r, K: 1.0,
}


def even(counts):
    """Whether counts look like draws from equally likely classes (χ² at one in 100,000)."""
    expected = float(counts.sum()) / len(counts)
    return float(((counts - expected) ** 2 / expected).sum()) < chi2.ppf(1 - 1e-5, max(len(counts) - 1, 1))


@pytest.mark.parametrize("permutation", KEEP)
@pytest.mark.parametrize("K", [2, 10, 100])
@pytest.mark.parametrize("r", [0.0, 0.1, 0.9, 1.0])
def test_labels_are_kept_as_often_as_said_and_else_moved_evenly(permutation, K, r):
    own = K // 2
    ratios = torch.zeros(K)
    ratios[own] = r
    drawn = permute(torch.full((DRAWS,), own), ratios, permutation, seeded(K + int(10 * r)))
    counts = torch.bincount(drawn, minlength=K).double()
    keep = KEEP[permutation](r, K)
    assert len(counts) == K
    assert abs(float(counts[own]) / DRAWS - keep) <= 4 * math.sqrt(keep * (1 - keep) / DRAWS)  # exact at 0 and 1
    others = torch.cat([counts[:own], counts[own + 1 :]])
    if others.sum():
        assert even(others)


@pytest.mark.parametrize("K", [3, 10, 100])
def test_retained_never_gives_a_wholly_forgotten_class_nor_the_class_itself_when_moved(K):
    ratios = torch.zeros(K)
    ratios[0], ratios[1] = 1.0, 1.0  # class 0 is asked about, class 1 is gone as well
    counts = torch.bincount(permute(torch.zeros(20_000, dtype=torch.long), ratios, "retained", seeded()), minlength=K)
    assert counts[:2].tolist() == [0, 0] and even(counts[2:].double())


def test_retained_gives_partly_forgotten_classes_like_all_others():
    ratios = torch.tensor([1.0, 0.999, 0.0, 0.5])
    counts = torch.bincount(permute(torch.zeros(20_000, dtype=torch.long), ratios, "retained", seeded()), minlength=4)
    assert counts[0] == 0 and even(counts[1:].double())


@pytest.mark.parametrize("permutation", ["paper", "authors", "uniform"])
def test_the_other_permutations_give_wholly_forgotten_classes_too(permutation):
    counts = torch.bincount(permute(torch.zeros(20_000, dtype=torch.long), torch.ones(4), permutation, seeded()))
    assert len(counts) == 4 and even(counts[1:].double())


def test_each_label_has_the_ratio_of_its_own_class():
    ratios = torch.tensor([0.0, 0.25, 1.0])
    y = torch.arange(3).repeat(DRAWS)
    kept = (permute(y, ratios, "authors", seeded()) == y).view(DRAWS, 3).double().mean(0)
    assert kept[0] == 1 and kept[2] == 0
    assert abs(float(kept[1]) - 0.75) <= 4 * math.sqrt(0.75 * 0.25 / DRAWS)


@pytest.mark.parametrize("permutation", KEEP)
def test_labels_depend_on_the_generator_alone(permutation):
    y, ratios, state = torch.arange(10).repeat(50), torch.full((10,), 0.5), torch.get_rng_state()
    before = y.clone()
    a, b = (permute(y, ratios, permutation, seeded(3)) for _ in range(2))
    assert torch.equal(a, b) and torch.equal(y, before) and a.dtype == y.dtype
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(a, permute(y, ratios, permutation, seeded(4))) == (permutation == "none")


def test_another_is_always_another_and_allowed():
    allowed = torch.tensor([True, False, True, True])
    y = torch.arange(4).repeat(DRAWS // 4)
    drawn = another(y, allowed, seeded())
    assert bool((drawn != y).all()) and bool(allowed[drawn].all())
    for k in range(4):
        counts = torch.bincount(drawn[y == k], minlength=4).double()
        assert even(counts[[j for j in (0, 2, 3) if j != k]])


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [([False, False, False], [0, 1, 2]), ([False, True, False], [1, 1, 1]), ([True, True, False], [1, 0, None])],
)
def test_where_nothing_else_is_allowed_the_label_stays(allowed, expected):
    y = torch.arange(3)
    drawn = another(y, torch.tensor(allowed), seeded())
    assert all(e is None or e == found for e, found in zip(expected, drawn.tolist(), strict=True))
    assert torch.equal(y, torch.arange(3))


@pytest.mark.parametrize("K", [2, 10, 100])
def test_h_has_64_hidden_values_with_batch_norm_and_without_biases(K):
    h = predictor(K, 64)
    assert [type(module) for module in h] == [nn.Linear, nn.BatchNorm1d, nn.ReLU, nn.Linear]
    shapes = {name: tuple(p.shape) for name, p in h.named_parameters()}
    assert shapes == {"0.weight": (64, K), "1.weight": (64,), "1.bias": (64,), "3.weight": (K, 64)}
    assert h(torch.randn(6, K, generator=seeded())).shape == (6, K)


def test_h_by_hand():
    # Hidden values of the two rows: (1, −1)·w with w = 1: ±1; the batch norm (mean 0, variance 1) leaves ±1; ReLU 1, 0;
    # the last layer (2, 3) gives (2, 3) and (0, 0).
    h = predictor(2, 1)
    with torch.no_grad():
        h[0].weight.copy_(torch.tensor([[1.0, 0.0]]))
        h[3].weight.copy_(torch.tensor([[2.0], [3.0]]))
    found = h(torch.tensor([[1.0, 9.0], [-1.0, 9.0]]))
    assert found.flatten().tolist() == pytest.approx([2.0, 3.0, 0.0, 0.0], abs=1e-4)
