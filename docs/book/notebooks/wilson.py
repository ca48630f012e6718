# %% [markdown]
# # The Wilson operator, by hand
# Chapters 1 to 3 of the book in Python: a plane wave, γ₅-Hermiticity, conjugate gradients. The operator M is the
# library's, the rest of the code is yours. Vectors are arrays `[t][z][y][x][spin][colour]`.

# %%
import os

import numpy as np

import plaquette

np.random.seed(1)


def random_spinor(lattice):
    return np.random.normal(size=(*lattice.shape, 4, 3)) + 1j * np.random.normal(size=(*lattice.shape, 4, 3))


def difference(a, b):
    """Returns |a - b| / |b|."""
    return np.linalg.norm(a - b) / np.linalg.norm(b)


# %% [markdown]
# ## The free field
# All links are 1. A plane wave exp(ipx) v becomes exp(ipx) M(p) v, with the 4x4 matrix
# M(p) = m + Σ (1 - cos p_μ) + i Σ γ_μ sin p_μ. Along the time direction γ₄ joins the upper spins to the lower:
# in this basis γ₄ = [[0, 1], [1, 0]] of 2x2 blocks.

# %%
lattice = plaquette.Lattice((4, 4, 4, 8))
links = np.broadcast_to(np.eye(3), (*lattice.shape, 4, 3, 3)).astype(complex)
free = plaquette.Dirac(plaquette.Gauge(lattice, links, axes="tzyxmij"), mass=0.5, boundary_phase=(1, 1, 1, 1))
p = 2 * np.pi * 3 / 8
gamma_4 = np.kron([[0, 1], [1, 0]], np.eye(2))
v = np.array([1, 2j, 3, 4])
wave = np.exp(1j * p * np.arange(8))[:, None, None, None, None, None] * np.ones((*lattice.shape, 4, 3))
found = free.apply(wave * v[:, None])
expected = wave * ((0.5 + 1 - np.cos(p)) * v + 1j * np.sin(p) * gamma_4 @ v)[:, None]
print(f"plane wave: {difference(found, expected):.1e}")
assert difference(found, expected) < 1e-14

# %% [markdown]
# ## γ₅-Hermiticity
# On any links γ₅ M γ₅ = M⁺, which means <y, γ₅ M γ₅ x> = <M y, x> for all x and y. γ₅ = diag(1, 1, -1, -1).

# %%
gauge = plaquette.Gauge.read(os.environ.get("PLAQUETTE_CONFIGURATION", "data/beta6.0_6x6x6x12.nersc"))
m = plaquette.Dirac(gauge, mass=0.1)
x, y, gamma_5 = random_spinor(gauge.lattice), random_spinor(gauge.lattice), np.array([1, 1, -1, -1])[:, None]
left, right = np.vdot(y, gamma_5 * m.apply(gamma_5 * x)), np.vdot(m.apply(y), x)
print(f"gamma_5: {difference(left, right):.1e}")
assert difference(left, right) < 1e-12

# %% [markdown]
# ## Conjugate gradients
# For M⁺ M x = M⁺ b. `history` keeps |r| of each step.


# %%
def conjugate_gradients(b, tolerance):
    r = m.apply(b, dagger=True)
    x, p, rr, history = np.zeros_like(b), r.copy(), np.vdot(r, r).real, []
    while np.sqrt(rr) > tolerance * np.linalg.norm(b):
        q = m.apply(m.apply(p), dagger=True)
        alpha = rr / np.vdot(p, q).real
        x += alpha * p
        r -= alpha * q
        before, rr = rr, np.vdot(r, r).real
        p = r + rr / before * p
        history.append(np.sqrt(rr))
    return x, history


b = random_spinor(gauge.lattice)
x, history = conjugate_gradients(b, 1e-9)
print(f"{len(history)} steps, |b - M x| / |b| = {difference(m.apply(x), b):.1e}")
assert difference(m.apply(x), b) < 1e-8

# %% [markdown]
# The library solves the same system in another way (BiCGstab, even-odd). Solutions agree.

# %%
theirs = plaquette.krylov(gauge, mass=0.1).solve_for(b[None], tolerance=1e-10).x[0]
print(f"against the library: {difference(x, theirs):.1e}")
assert difference(x, theirs) < 1e-7

# %% [markdown]
# ## Yours
# 1. Draw `history` on a logarithmic axis. How many steps lower it by ten?
# 2. Take masses 0.4, 0.2, 0.1, 0.05. How does the number of steps grow?
# 3. Solve M M⁺ y = b, x = M⁺ y. Is it better?
