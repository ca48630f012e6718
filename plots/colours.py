# SPDX-License-Identifier: BSD-3-Clause
"""Colours of the figures, distinguishable with every common colour blindness (Okabe and Ito)."""

COLOURS = {"blue": "#0072B2", "vermilion": "#D55E00", "green": "#009E73", "purple": "#CC79A7", "orange": "#E69F00",
           "sky": "#56B4E9", "grey": "#6B6B6B"}
