"""Many tests at once: the rate of false discoveries at which each would be one."""

import numpy as np

from triage.domain.arrays import F64


def adjust_p_values(p_values: F64) -> F64:
    """p-values after Benjamini and Hochberg (J. R. Stat. Soc. B 57, 1995), in the same order.

    >>> adjusted(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    num = len(p_values)
    order = np.argsort(p_values, kind="stable")
    scaled = p_values[order] * num / np.arange(1, num + 1)
    q_values = np.empty(num)
    q_values[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q_values
