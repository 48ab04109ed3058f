"""Blocks of logs: leaving one out equals fitting the others, and residuals of a right model cannot be predicted."""

import numpy as np
import pytest

from steelyard.equations.rows import Block
from steelyard.inference.log_blocks import BlockSums, Partition, jackknife
from steelyard.inference.residual_structure import residual_structure
from steelyard.information import Information

pytestmark = pytest.mark.numerical


def rows(rng, samples=400, n=5, channels=2, noise=0.1):
    Y = rng.normal(size=(samples, channels, n))
    theta = rng.normal(size=n)
    return [Block(np.arange(samples) / 10, Y, Y @ theta + noise * rng.normal(size=(samples, channels)), True)], theta


def test_blocks_cover_all_logs_and_none_lies_in_two():
    partition = Partition.of([(0.0, 30.0), (5.0, 11.0), (0.0, 60.0)])
    assert partition.count == 10
    assert [len(e) - 1 for e in partition.edges] == [3, 1, 6]
    numbers = [partition.block(k, np.linspace(e[0], e[-1], 200)) for k, e in enumerate(partition.edges)]
    assert [(int(x.min()), int(x.max())) for x in numbers] == [(0, 2), (3, 3), (4, 9)]


def test_leaving_a_block_out_equals_fitting_the_others_by_qr():
    rng = np.random.default_rng(0)
    blocks, _ = rows(rng)
    partition, W, scale = Partition.of([(0.0, 39.9)]), np.diag([2.0, 0.5]), np.array([1.0, 10.0, 0.1, 1.0, 3.0])
    prior = Information.of(0.3 * np.eye(5), np.ones(5))
    held, free = np.array([0.0, 0.0, 0.7, 0.0, 0.0]), np.array([0, 1, 3, 4])
    each, whole = BlockSums.of(partition, blocks, W, scale).without_each(prior, held, free)
    number = partition.block(0, blocks[0].time)
    for b, theta in [*enumerate(each), (None, whole)]:
        at = np.ones(len(number), bool) if b is None else number != b
        Y = np.einsum("ij,tjn->tin", W, blocks[0].Y[at]).reshape(-1, 5)
        info = Information.of(Y, (blocks[0].target[at] @ W.T).ravel()) + prior
        np.testing.assert_allclose(theta[free], info.given(np.array([2]), held[[2]]).solve(), rtol=1e-9)
        assert theta[2] == held[2]


def test_the_jackknife_of_white_noise_is_its_covariance():
    rng = np.random.default_rng(1)
    ratios = []
    for _ in range(40):
        blocks, _ = rows(rng)
        partition = Partition.of([(0.0, 39.9)])
        sums = BlockSums.of(partition, blocks, np.eye(2), np.ones(5))
        each, _ = sums.without_each(Information.of(1e-6 * np.eye(5), np.zeros(5)), np.zeros(5), np.arange(5))
        ratios.append(np.diag(jackknife(each, sums.used)) / (0.01 * np.diag(np.linalg.inv(sums.A.sum(axis=0)))))
    assert np.mean(ratios) == pytest.approx(1.1, abs=0.2)  # 10/9 for ten blocks; 200 ratios of nine degrees of freedom


@pytest.mark.parametrize("cause", ["posture", "delay"])
def test_structure_is_found_and_named_and_chance_is_not(cause):
    rng = np.random.default_rng(2)
    t = np.arange(1200) / 40
    features = {
        "posture": np.column_stack([np.sin(t), np.cos(0.7 * t), np.sin(1.3 * t)]),
        "delay": np.cos(5 * t)[:, None],
        "time": (t / 30 - 0.5)[:, None],
    }
    block, white = (10 * np.arange(1200)) // 1200, rng.normal(size=1200)
    assert residual_structure(features, white, block).share < 0.02
    signal = features[cause] @ np.ones(features[cause].shape[1])
    both = residual_structure(features, white + signal, block)
    assert both.cause == cause
    assert both.share == pytest.approx(np.var(signal) / (1 + np.var(signal)), abs=0.05)
