# %% [markdown]
# # Sound in a box
# Chapter 8 of the book in Python: a standing wave that is known exactly, its error and its energy. The library steps in
# time; states are arrays `[column][field][element][node]` with the fields p, u, v, w (pressure and velocity).

# %%
import numpy as np

import plaquette


def standing_wave(positions, t):
    """Returns p = cos πx cos πy cos πz cos ωt with ω = √3 π, and its velocity. Walls at 0 and 1 are rigid."""
    c, s = np.moveaxis(np.cos(np.pi * positions), -1, 0), np.moveaxis(np.sin(np.pi * positions), -1, 0)
    omega = np.sqrt(3) * np.pi
    p = np.prod(c, axis=0) * np.cos(omega * t)
    velocity = [s[n] * c[n - 1] * c[n - 2] * np.sin(omega * t) / np.sqrt(3) for n in range(3)]
    return np.array([[p, *velocity]])


def run(cells, order, upwinding=1.0, until=1.0):
    """Returns waves on cells³ cubes of six tetrahedra each, after a time, and the first energy. The last step is repeated by the textbook."""
    waves = plaquette.Waves.box((cells, cells, cells), (0, 0, 0), (1, 1, 1), order=order, upwinding=upwinding)
    waves.set_state(standing_wave(waves.positions, 0.0))
    before, steps = waves.energies[0], int(np.ceil(until / waves.stable_step))
    waves.advance(steps, until / steps).require()
    return waves, before


def error(waves):
    return np.sqrt(np.mean((waves.state() - standing_wave(waves.positions, waves.time)) ** 2))


# %% [markdown]
# ## How fast the error falls
# Polynomials of order N leave an error of h^(N+1), where h is the size of an element. So half the size divides it by
# 2^(N+1).

# %%
print("N   error, 2³ cubes   4³ cubes   fell as h to the power")
for order in 1, 2, 3, 4:
    large, small = (error(run(cells, order)[0]) for cells in (2, 4))
    power = np.log2(large / small)
    print(f"{order}   {large:.2e}          {small:.2e}   {power:.2f}")
    assert abs(power - (order + 1)) < 0.6  # the elements are large: on 8³ cubes it is 0.1

# %% [markdown]
# ## Where energy goes
# The exact wave keeps its energy. The upwind flux takes the energy of jumps between elements from it.
# The central flux takes nothing: it loses only the error of time steps. The upwind solution is the better one all the same.

# %%
lost = {}
for name, upwinding in ("upwind", 1.0), ("central", 0.0):
    waves, before = run(4, 3, upwinding)
    lost[name] = 1 - waves.energies[0] / before
    print(f"{name}: error {error(waves):.1e}, energy lost {lost[name]:.1e}")
assert 0 < lost["central"] < 0.1 * lost["upwind"] < 0.01

# %% [markdown]
# ## A step that is too long
# Random numbers hold all waves that the elements can carry, the fastest ones too. At the stable step they lose energy. A step
# three times as long would make them grow without bound, so the library measures the longest stable one and refuses it.

# %%
waves = plaquette.Waves.box((2, 2, 2), order=3)
waves.set_state(np.random.default_rng(1).normal(size=waves.shape))
before = waves.energies[0]
waves.advance(10, waves.stable_step, judge=False)
print(f"the stable step: energy times {waves.energies[0] / before:.1e} in 10 steps")
assert waves.energies[0] < before
try:
    waves.advance(10, 3 * waves.stable_step, judge=False)
    raise AssertionError("a step that is not stable was taken")
except plaquette.PlaquetteError as error:
    print(error)

# %% [markdown]
# ## Yours
# 1. Draw p along a line through the box (`positions` has the nodes) at t = 0.1, 0.2, 0.3.
# 2. Solve on 8³ cubes at orders 1 and 2. How close to N + 1 does the power come?
# 3. The message above names the longest stable step. Print it for orders 1 to 5. How does it fall with N?
