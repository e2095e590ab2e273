"""Sources and sensors off the grid against closed forms, on every backend where it is cheap."""
import h5py
import numpy as np
import pytest

from conftest import need, periodic, relative_error

H, C, RHO = 1e-4, 1500.0, 1000.0
BACKENDS = [("cpu", True), ("cpu", False), ("cuda", False)]


def unit(*v):
    return (np.array(v, float) / np.linalg.norm(v)).tolist()


def amplitude(p, frequency, dt, periods=4, shift=0.0):
    """Complex amplitudes over the last periods of each trace; shift: of the clock, in steps."""
    n = int(round(periods / frequency / dt))
    t = (np.arange(p.shape[-1]) + shift) * dt
    return 2 / n * p[..., -n:] @ np.exp(-2j * np.pi * frequency * t[-n:])


def continuous(frequency, size):
    return {"type": "continuous", "amplitude": size, "frequency": frequency, "ramp_cycles": 4.0}


def steady(cfl=0.25, points_per_period=48):
    """dt and a frequency of whole samples a period."""
    dt = cfl * H / C
    return dt, 1 / (points_per_period * dt)


# ---- strength ----

@pytest.mark.parametrize("spacing", [[H, H], [H, 1.4 * H]])
@pytest.mark.parametrize("degrees", [0, 20, 45, 70, 90])
@pytest.mark.parametrize("quantity", ["p", "u_normal"])
def test_plane_wave_of_any_direction(shop, quantity, degrees, spacing):
    """A long line of 1 Pa, or of 1 Pa/(rho c) along its normal, makes a wave of 1 Pa, from anywhere in the grid."""
    frequency, cfl, steps = 0.7e6, 0.25, 700
    n = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), 0])
    along = np.array([-n[1], n[0], 0])
    middle, half = np.array([0.33, -0.41, 0]) * H, 75 * H
    size = [180, int(180 / (spacing[1] / H)) // 2 * 2, 1]
    scene = periodic(size, spacing + [H], pml={"size": [15, 15, 0]}, time={"cfl": cfl, "steps": steps},
                     record={"quantities": ["p"]},
                     sensors=[{"name": "s", "points": [(middle + 30 * H * n).tolist()], "interpolation": "bandlimited"}],
                     sources=[{"quantity": quantity, "shape": "line", "from": (middle - half * along).tolist(),
                               "to": (middle + half * along).tolist(), "normal": n.tolist(),
                               "signal": {"type": "tone_burst", "cycles": 4.0, "frequency": frequency, "phase": np.pi / 2,
                                          "amplitude": 1.0 if quantity == "p" else 1 / (RHO * C)}}])
    result = shop.run(scene)
    assert np.abs(result.p[0]).max() == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("spacing", [H, 0.5 * H])
def test_volume_velocity_point(shop, spacing):
    """p = rho q'(t + dt/2 - r/c)/(4 pi r), on any spacing, from between grid points."""
    n, steps, cfl = 64, 150, 0.25
    dt = cfl * spacing / C
    frequency = C / (8 * spacing)
    place = np.array([0.3, 0.2, -0.4]) * spacing
    sensor = place + np.array([14, 6, -5]) * spacing
    r = np.linalg.norm(sensor - place)
    signal = {"type": "gaussian_pulse", "amplitude": 1e-6, "frequency": frequency, "bandwidth": 0.8}
    scene = periodic([n, n, n], spacing, pml={"size": 10}, time={"cfl": cfl, "steps": steps}, record={"quantities": ["p"]},
                     sensors=[{"name": "s", "points": [sensor.tolist()], "interpolation": "bandlimited"}],
                     sources=[{"quantity": "volume_velocity", "shape": "point", "center": place.tolist(), "signal": signal}])
    p = shop.run(scene).p[0]
    sigma = np.sqrt(2 * np.log(2)) / (np.pi * 0.8 * frequency)

    def q(t):
        d = t - 4 * sigma
        return np.where((t > 0) & (d <= 4 * sigma), 1e-6 * np.exp(-0.5 * (d / sigma)**2) * np.cos(2 * np.pi * frequency * d), 0)
    t = np.arange(steps) * dt + dt / 2 - r / C
    wanted = RHO * (q(t + dt / 50) - q(t - dt / 50)) / (dt / 25) / (4 * np.pi * r)
    assert relative_error(p, wanted) < 0.01


# ---- beams ----

def piston_axis(z, radius, k):
    """|p|/(rho c u) on the axis of a circular piston in a rigid baffle."""
    return 2 * np.abs(np.sin(k / 2 * (np.sqrt(z**2 + radius**2) - z)))


@pytest.mark.parametrize("backend, double, degrees", [("cpu", False, 0), ("cpu", False, 30), ("cpu", False, 45), ("cuda", False, 0),
                                                      ("cuda", False, 30), ("cuda", False, 45)])
def test_rotated_piston(shop, backend, double, degrees):
    """A disc's field on its axis within 2 % of the closed form, and within 1 % of itself however it is turned: a sheet of
    monopoles in the open, whose two sides are each a piston in a baffle of half its strength."""
    need(backend)
    dt, frequency = steady(0.3, 36)
    k, radius = 2 * np.pi * frequency / C, 11.3 * H
    n = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), 0])
    start = -20 * H * n + np.array([0.2, -0.1, 0.3]) * H
    z = np.arange(10, 40, 3) * H
    grid, steps = [90, 90 if degrees else 64, 64], 460
    scene = periodic(grid, H, pml={"size": 10}, time={"dt": dt, "steps": steps},
                     record={"quantities": ["p_fourier"], "frequencies": [frequency], "from_step": steps - 108},
                     sensors=[{"name": "axis", "points": (start + z[:, None] * n).tolist(), "interpolation": "bandlimited"}],
                     sources=[{"quantity": "p", "shape": "disc", "center": start.tolist(), "normal": n.tolist(), "radius": radius,
                               "signal": continuous(frequency, 1.0)}])
    shop.run(scene, double=double, backend=backend)
    with h5py.File(shop.folder / "out.h5") as out:
        got = out["p_amplitude"][:, 0]
    wanted = piston_axis(z, radius, k)
    assert np.abs(got / wanted - 1).max() < 0.01


def oneil_axis(z, curvature, aperture, k):
    """|p|/(rho c u) on the axis of a spherical bowl, z from its middle: O'Neil, J. Acoust. Soc. Am. 21 (1949)."""
    height = curvature - np.sqrt(curvature**2 - aperture**2 / 4)
    rim = np.sqrt((z - height)**2 + aperture**2 / 4)
    return np.abs(2 / (1 - z / curvature) * np.sin(k * (rim - z) / 2))


@pytest.mark.parametrize("backend, double", [("cpu", False), ("cuda", False)])
@pytest.mark.parametrize("normal", [[1, 0, 0], [0.8, 0.6, 0]])
def test_focused_bowl(shop, backend, double, normal):
    """O'Neil's field on the axis of a shallow bowl within 2 % of its largest value, along an axis and between axes."""
    need(backend)
    dt, frequency = steady(0.3, 20)
    k, curvature, aperture = 2 * np.pi * frequency / C, 40 * H, 32 * H
    n = np.array(unit(*normal))
    start = -26 * H * n + np.array([0.1, 0.3, 0.2]) * H
    z = np.concatenate([np.arange(14, 39, 2), np.arange(41, 52, 2)]) * H
    steps = 420
    scene = periodic([84, 64 if normal[1] == 0 else 80, 64], H, pml={"size": 10}, time={"dt": dt, "steps": steps},
                     record={"quantities": ["p_fourier"], "frequencies": [frequency], "from_step": steps - 100},
                     sensors=[{"name": "axis", "points": (start + z[:, None] * n).tolist(), "interpolation": "bandlimited"}],
                     sources=[{"quantity": "p", "shape": "bowl", "center": start.tolist(), "normal": n.tolist(),
                               "radius": curvature, "aperture": aperture, "signal": continuous(frequency, 1.0)}])
    shop.run(scene, double=double, backend=backend)
    with h5py.File(shop.folder / "out.h5") as out:
        got = out["p_amplitude"][:, 0]
    wanted = oneil_axis(z, curvature, aperture, k)
    assert np.abs(got - wanted).max() < 0.02 * wanted.max()
