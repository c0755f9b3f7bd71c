"""k-means of points that are split among ranks: the centres are those that one process finds."""

import allhands
import numpy


def k_means(points, k, total=lambda sums: sums):
    """The centres after 20 rounds; `total` adds the sums of all ranks up."""
    centres = START[:k].copy()
    for _ in range(20):
        nearest = ((points[:, None] - centres) ** 2).sum(2).argmin(1)
        sums = numpy.zeros((k, points.shape[1] + 1))
        numpy.add.at(sums, nearest, numpy.hstack([points, numpy.ones((len(points), 1))]))
        sums = total(sums)
        centres = sums[:, :-1] / sums[:, -1:]
    return centres


POINTS = numpy.random.default_rng(1).integers(0, 1000, (4000, 2)).astype(float)
START = POINTS[:5]

if __name__ == "__main__":
    found = allhands.run(lambda comm: k_means(POINTS[comm.rank :: comm.size], 5, comm.allreduce), 4)
    right = k_means(POINTS, 5)
    assert all(numpy.allclose(centres, right) for centres in found)
    print("five centres, the same as of one process")
