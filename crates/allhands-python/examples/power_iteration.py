"""The largest eigenvalue of a symmetric matrix, whose rows are split among ranks; beside numpy's own."""

import allhands
import numpy

N = 300


def matrix(rows):
    return numpy.array([[1.0 / (1 + abs(i - j)) for j in range(N)] for i in rows])


def power(comm):
    mine = matrix(range(comm.rank * N // comm.size, (comm.rank + 1) * N // comm.size))
    vector = numpy.ones(N)
    for _ in range(200):
        vector = comm.allgather(mine @ vector, counts="any")
        value = numpy.linalg.norm(vector)
        vector /= value
    return float(value)


if __name__ == "__main__":
    found = allhands.run(power, 4)
    right = numpy.linalg.eigvalsh(matrix(range(N)))[-1]
    assert all(abs(value - right) < 1e-6 * right for value in found), (found, right)
    print(f"the largest eigenvalue is {found[0]:.6f}, as numpy says")
