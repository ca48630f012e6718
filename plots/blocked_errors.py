# SPDX-License-Identifier: BSD-3-Clause
"""Errors of averages along a chain, whose values depend on those before them."""

import math


def blocked_error(values, least_blocks=10):
    """The largest error of the mean over lengths of blocks that leave at least `least_blocks` of them; NaN of fewer than
    two values. A block is longer than the correlation where its error has stopped to grow."""
    count, errors = len(values), []
    if count < 2:
        return math.nan
    length = 1
    while length == 1 or count // length >= least_blocks:
        means = [sum(values[n * length:(n + 1) * length]) / length for n in range(count // length)]
        mean = sum(means) / len(means)
        errors.append(math.sqrt(sum((m - mean) ** 2 for m in means) / (len(means) * (len(means) - 1))))
        length *= 2
        if count // length < 2:
            break
    return max(errors)
