"""The losses on worked dialogues: values, gradients, padding, scale (DEUS, eq. 7–11 and 16)."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.extra("torch")

from perslib.systems.deus.networks import NetworkOutput, expected_cost, losses  # noqa: E402

F = [-1.4, -2.6, -0.7]


def total(parts):
    """What is minimised: the mean over dialogues of their sum."""
    return sum(parts).mean()


def one(f=F, h=5.0, y=1, v_b=-1.0, variant="full", pad=0, ahead=None):
    """Losses of a single dialogue, and the tensors they depend on."""
    f = torch.tensor([[*f, *[123.0] * pad]], dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True] * (f.shape[1] - pad) + [False] * pad])
    h = torch.tensor([h], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([float(y)], dtype=torch.float64)
    return losses(NetworkOutput(f, h, ahead), y, mask, v_b, variant), f, h


@pytest.mark.parametrize(
    "f, h, y, v_b, parts, full, light",
    [
        (F, 5.0, +1, -1.0, (0, 0, 0.3), 0.3, 0.3),
        (F, 5.0, -1, -1.0, (0.3, 0, 0.3), 0.6, 0.6),
        (F, 3.5, +1, -1.0, (1.2, 0.5, 0.3), 2.0, 1.5),
        (F, 3.5, -1, -1.0, (0, 0.5, 0.3), 0.8, 0.3),
        (F, 5.0, +1, -2.0, (0, 0, 1.9), 1.9, 1.9),
        (F, 5.0, +1, -0.5, (0, 0, 0), 0.0, 0.0),
        ([-1.2], 0.9, -1, -1.0, (0, 0, 0), 0.0, 0.0),
        ([-1.2], -0.2, -1, -1.0, (0, 0.2, 0), 0.2, 0.0),
    ],
)
def test_worked_dialogues(f, h, y, v_b, parts, full, light):
    found, *_ = one(f, h, y, v_b)
    assert [part.item() for part in found] == pytest.approx(parts, abs=1e-4)
    assert total(found).item() == pytest.approx(full, abs=1e-4)
    assert total(one(f, h, y, v_b, "light")[0]).item() == pytest.approx(light, abs=1e-4)


def test_gradients_of_an_overspent_success():
    found, f, h = one(h=3.5)
    total(found).backward()
    assert f.grad.tolist() == [pytest.approx([-2, -2, 0], abs=1e-4)]
    assert h.grad.item() == pytest.approx(-2, abs=1e-4)


def forward(gamma, y, *, h=5.0, rest=(3.5, 2.0), done=(1.5, 3.0), left=(True, True)):
    """The dialogue of three turns for a user who looks forward; rest and done hold h at turns 2 and 3."""
    f = torch.tensor([F], dtype=torch.float64, requires_grad=True)
    h = torch.tensor([h], dtype=torch.float64, requires_grad=True)
    rest, done = (torch.tensor([9.0, *v], dtype=torch.float64, requires_grad=True) for v in (rest, done))
    flags = {"done": torch.tensor([False, True, True]), "rest": torch.tensor([True, *left])}
    ahead = expected_cost(-f.cumsum(1)[0], done, rest, gamma, **flags)
    y = torch.tensor([float(y)], dtype=torch.float64)
    found = losses(NetworkOutput(f, h, ahead[None]), y, torch.ones(1, 3, dtype=torch.bool), -1.0)
    total(found).backward()
    of_done = [0.0] * 3 if done.grad is None else done.grad.tolist()
    return found, ahead, f.grad[0].tolist(), h.grad.item(), rest.grad.tolist(), of_done


@pytest.mark.parametrize(
    "gamma, y, left, ahead, parts",
    [
        (0.5, -1, (True, True), (4.6667, 1.5667), (0, 3.6667, 0.3)),
        (0.1, -1, (True, True), (0.9333, 0.3133), (0, 0, 0.3)),
        (0.1, +1, (True, False), (0.9333, 0.0), (0, 0, 0.3)),
    ],
)
def test_worked_dialogues_of_a_user_who_looks_forward(gamma, y, left, ahead, parts):
    found, h_prime, *_ = forward(gamma, y, left=left)
    assert h_prime[1:].tolist() == pytest.approx(ahead, abs=1e-4)
    assert [part.item() for part in found] == pytest.approx(parts, abs=1e-4)
    assert total(found).item() == pytest.approx(sum(parts), abs=1e-4)


def test_gradients_flow_through_the_ratio():
    _, _, f, h, rest, done = forward(0.5, -1)
    assert f == pytest.approx([-2.1667, -2.1667, 1.0], abs=1e-4)
    assert (h, rest, done) == (
        pytest.approx(-1),
        pytest.approx([0, 1.3333, 0], abs=1e-4),
        pytest.approx([0, -3.1111, 0], abs=1e-4),
    )


def test_nothing_finished_yet_takes_the_ratio_as_one_and_extremes_are_bounded():
    of = [torch.tensor([v], dtype=torch.float64) for v in (4.0, 0.0, 5.0)]
    begun, yes = torch.tensor([False]), torch.tensor([True])
    assert expected_cost(*of, 0.3, done=begun, rest=yes).item() == pytest.approx(1.5)
    assert expected_cost(*of, 0.3, done=yes, rest=yes).item() == pytest.approx(10 * 5 * 0.3)


def test_before_the_first_turn_nothing_is_expected():
    ahead = torch.tensor([[0.4]], dtype=torch.float64)
    at_end, before, _ = one([-1.2], 0.3, +1, ahead=ahead)[0]
    assert (at_end.item(), before.item()) == (pytest.approx(1.3), 0)  # −1.3 left at the end, 0.3 before


def test_a_dialogue_that_was_cut_off_only_says_that_budget_was_left():
    assert one(h=3.5, y=0)[0][0].item() == pytest.approx(1.2)
    assert one(h=5.0, y=0)[0][0].item() == 0


@pytest.mark.parametrize("pad", [1, 7])
def test_padding_changes_nothing(pad):
    plain, f, _ = one(h=3.5)
    padded, g, _ = one(h=3.5, pad=pad)
    total(plain).backward()
    total(padded).backward()
    assert total(padded).item() == total(plain).item()
    assert g.grad[0, :3].tolist() == f.grad[0].tolist()
    assert not g.grad[0, 3:].any()


def test_batch_loss_is_the_mean_over_dialogues_of_sums_over_turns():
    f = torch.tensor([[-0.5, -0.5, -0.5], [-1.2, 0.0, 0.0]])
    mask = torch.tensor([[True, True, True], [True, False, False]])
    of = NetworkOutput(f, torch.tensor([5.0, 5.0]), None)
    found = losses(of, torch.tensor([1.0, 1.0]), mask, -1.0)
    assert found[2].tolist() == pytest.approx([1.5, 0.0])
    assert total(found).item() == pytest.approx(0.75)


@pytest.mark.parametrize("variant", ["full", "light"])
@pytest.mark.parametrize("c", [0.5, 3.0])
def test_everything_times_c_makes_the_loss_times_c(variant, c):
    rng = torch.Generator().manual_seed(3)
    f, h = (-4 * torch.rand(50, 6, generator=rng, dtype=torch.float64), 12 * torch.rand(50, generator=rng).double())
    mask = torch.arange(6) < torch.randint(1, 7, (50, 1), generator=rng)
    y = torch.randint(-1, 2, (50,), generator=rng).double()
    ahead = torch.rand(50, 6, generator=rng).double()
    plain = losses(NetworkOutput(f, h, ahead), y, mask, -2.0, variant)
    scaled = losses(NetworkOutput(c * f, c * h, c * ahead), y, mask, -2.0 * c, variant)
    assert total(plain).item() > 0
    for part, times_c in zip(plain, scaled):
        assert torch.allclose(times_c, c * part)
