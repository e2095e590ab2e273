"""Sources and sensors off the grid against closed forms, on every backend where it is cheap."""
import h5py
import numpy as np
import pytest

from conftest import need, periodic, relative_error, slow

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

@slow
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


@slow
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


@slow
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


@slow
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


# ---- delays, weights, elements ----

def flat(**more):
    """A small 2-D run."""
    scene = periodic([64, 60, 1], H, pml={"size": 10}, time={"cfl": 0.3, "steps": 160}, record={"quantities": ["p"]},
                     sensors=[{"name": "s", "points_index": [[40, 30, 0], [30, 44, 0], [50, 22, 0]]}])
    scene.update(more)
    return scene


BURST = {"type": "tone_burst", "amplitude": 1.0, "frequency": 1.2e6, "cycles": 3.0}
POINTS = [[20, 25, 0], [20, 30, 0], [20, 35, 0], [20, 40, 0]]


def sampled(delay, steps=160, dt=0.3 * H / C, cycles=3.0, frequency=1.2e6):
    t = np.arange(steps) * dt - delay
    x = t * frequency / cycles
    return np.where((x >= 0) & (x <= 1), np.exp(-18 * (x - 0.5)**2) * np.sin(2 * np.pi * frequency * t), 0)


@pytest.mark.parametrize("mode", ["additive", "additive-no-correction"])
@pytest.mark.parametrize("quantity", ["p", "uy"])
@pytest.mark.parametrize("backend, double", BACKENDS)
def test_delays_and_weights_of_listed_points(shop, backend, double, quantity, mode):
    """The same run with the delayed and weighted signals written out; 0 is a delay like others."""
    need(backend)
    dt = 0.3 * H / C
    delays, weights = [0.0, 3.37 * dt, 11 * dt, 20.5 * dt], [0.5, 1.0, -0.7, 0.25]
    signal, = shop.maps(signal=np.array([w * sampled(d) for d, w in zip(delays, weights)]))
    source = {"quantity": quantity, "mode": mode, "points_index": POINTS}
    wanted = shop.run(flat(sources=[{**source, "signal": signal}]), double=True).p
    for given in (BURST, {"file": "maps.h5", "dataset": "/one"}):
        if given is not BURST:
            shop.maps(one=sampled(0.0))
        scene = flat(sources=[{**source, "signal": given, "delays": delays, "apodization": weights}])
        # samples are interpolated, of which the window's ends are not band-limited
        assert relative_error(shop.run(scene, double=double, backend=backend).p, wanted) < (1e-5 if given is BURST else 1e-3)


def test_delay_law_focuses(shop):
    """All points' waves meet at the focus at the same time; a steered line's at the same time along its direction."""
    focus = np.array([2.0, 5.0, 0.0]) * H
    points = [[15, int(y), 0] for y in range(16, 46, 3)]
    position = (np.array(points) - [32, 30, 0]) * H
    r = np.linalg.norm(position - focus, axis=1)
    for law, delays in (({"focus": focus.tolist(), "sound_speed": C}, (r.max() - r) / C),
                        ({"direction": unit(1, 0.4, 0), "sound_speed": C}, None)):
        if delays is None:
            along = position @ np.array(unit(1, 0.4, 0))
            delays = (along - along.min()) / C
        source = {"quantity": "p", "points_index": points, "signal": BURST}
        a = shop.run(flat(sources=[{**source, "delay_law": law}])).p
        b = shop.run(flat(sources=[{**source, "delays": delays.tolist()}])).p
        assert relative_error(a, b) < 1e-12


@pytest.mark.parametrize("backend, double", BACKENDS)
def test_elements(shop, backend, double):
    """An array is the sum of its elements, each with its delay, its weight and, from a dataset, its signal."""
    need(backend)
    dt = 0.3 * H / C
    shapes = [{"shape": "line", "from": [-12 * H, y * H, 0.0], "to": [-12 * H, (y + 3.1) * H, 0.0]} for y in (-9.3, -4.1, 1.7, 6.2)]
    parts = [{"delay": 0.0, "apodization": 0.5}, {"delay": 2.3 * dt}, {"delay": 5 * dt, "apodization": -1.0}, {"delay": 9.9 * dt}]
    array = {"quantity": "p", "elements": [{**s, **p} for s, p in zip(shapes, parts)], "signal": BURST}
    got = shop.run(flat(sources=[array]), double=double, backend=backend).p
    wanted = sum(shop.run(flat(sources=[{"quantity": "p", **s, "signal": {**BURST, "delay": p["delay"], "amplitude": p.get("apodization", 1.0)}}])).p
                 for s, p in zip(shapes, parts))
    assert relative_error(got, wanted) < 2e-5
    rows = np.array([0.3 * k * sampled(k * 4 * dt) for k in range(1, 5)])
    signal, = shop.maps(rows=rows)
    got = shop.run(flat(sources=[{"quantity": "p", "elements": shapes, "signal": signal}]), double=double, backend=backend).p
    wanted = sum(shop.run(flat(sources=[{"quantity": "p", **s, "signal": shop.maps(**{"row%d" % k: rows[k]})[0]}])).p
                 for k, s in enumerate(shapes))
    assert relative_error(got, wanted) < (1e-12 if double else 5e-6)


def test_one_active_element_is_itself(shop):
    shape = {"shape": "line", "from": [-12 * H, 1e-4, 0.0], "to": [-12 * H, 6e-4, 0.0]}
    other = {"shape": "line", "from": [-12 * H, -8e-4, 0.0], "to": [-12 * H, -3e-4, 0.0], "apodization": 0.0}
    a = shop.run(flat(sources=[{"quantity": "p", "elements": [shape, other], "signal": BURST}])).p
    b = shop.run(flat(sources=[{"quantity": "p", **shape, "signal": BURST}])).p
    assert np.isfinite(a).all() and relative_error(a, b) < 1e-12


def test_snapped_surface_is_its_nearest_points(shop):
    """On request only, and then as the same points listed; so Dirichlet surfaces are possible."""
    shape = {"shape": "line", "from": [-12.3 * H, -7.2 * H, 0.0], "to": [-12.3 * H, 6.8 * H, 0.0]}
    points = [[20, y, 0] for y in range(23, 38)]
    for mode in ("additive", "dirichlet"):
        a = shop.run(flat(sources=[{"quantity": "p", "mode": mode, **shape, "snap": True, "signal": BURST}])).p
        b = shop.run(flat(sources=[{"quantity": "p", "mode": mode, "points_index": points, "signal": BURST}])).p
        assert relative_error(a, b) < 1e-12


def test_doubled_amplitude_doubles_everything(shop):
    shape = {"quantity": "p", "shape": "line", "from": [-12.3 * H, -7.2 * H, 0.0], "to": [-10 * H, 6.8 * H, 0.0]}
    a = shop.run(flat(sources=[{**shape, "signal": BURST}]), double=False).p
    b = shop.run(flat(sources=[{**shape, "signal": {**BURST, "amplitude": 2.0}}]), double=False).p
    assert np.array_equal(b, 2 * a)


def test_reciprocity_off_the_grid(shop):
    """Source and sensor change places, in an inhomogeneous medium: a volume velocity's p is the same."""
    a, b = [[-7.3 * H, 4.2 * H, 0.0], [9.6 * H, -6.45 * H, 0.0]]
    medium = {"sound_speed": C, "density": RHO, "regions": [
        {"shape": "ball", "center": [2 * H, 0.0, 0.0], "radius": 6 * H, "sound_speed": 1900.0, "density": 1400.0}]}
    got = [shop.run(flat(medium=medium, sensors=[{"name": "s", "points": [y], "interpolation": "bandlimited"}], sources=[
        {"quantity": "volume_velocity", "mode": "additive", "shape": "point", "center": x, "signal": BURST}])).p for x, y in ((a, b), (b, a))]
    assert relative_error(got[0], got[1]) < 1e-3


# ---- sensors on surfaces ----

@pytest.mark.parametrize("shape, count, check", [
    ({"shape": "line", "from": [-1e-3, 0.0, 5e-4], "to": [1e-3, 0.0, 5e-4]}, 11, lambda x: np.allclose(x, np.stack([np.linspace(-1e-3, 1e-3, 11), 0 * np.arange(11), 0 * np.arange(11) + 5e-4], 1))),
    ({"shape": "disc", "radius": 1e-3, "normal": [0, 1, 0]}, 400, lambda x: np.allclose(x[:, 1], 0) and (np.linalg.norm(x, axis=1) < 1e-3).all() and np.linalg.norm(x.mean(0)) < 2e-5),
    ({"shape": "ring", "radius": 1e-3, "inner_radius": 6e-4, "normal": [0, 0, 1]}, 300, lambda x: np.linalg.norm(x, axis=1).min() >= 6e-4),
    ({"shape": "sphere", "radius": 1e-3}, 500, lambda x: np.allclose(np.linalg.norm(x, axis=1), 1e-3) and np.linalg.norm(x.mean(0)) < 1e-5),
    ({"shape": "arc", "center": [-1e-3, 0.0, 0.0], "radius": 1e-3, "aperture": 2e-3, "normal": [1, 0, 0]}, 9, lambda x: np.allclose(np.linalg.norm(x, axis=1), 1e-3)),
    ({"shape": "bowl", "center": [0.0, 0.0, -1e-3], "radius": 1e-3, "aperture": 1.6e-3, "focus": [0.0, 0.0, 0.0]}, 200, lambda x: np.allclose(np.linalg.norm(x, axis=1), 1e-3) and (np.hypot(x[:, 0], x[:, 1]) < 0.8e-3).all() and (x[:, 2] < 0).all()),
    ({"shape": "rectangle", "length": 1e-3, "width": 5e-4, "normal": [0, 0, 1], "side": [1, 0, 0]}, 200, lambda x: np.abs(x[:, 0]).max() < 5e-4 and np.abs(x[:, 1]).max() < 2.5e-4 and np.abs(x.mean(0)).max() < 1e-5)])
def test_points_on_surfaces(shop, shape, count, check):
    scene = periodic([26, 26, 26], H, pml={"size": 0}, p0=1.0, time={"cfl": 0.3, "steps": 1}, record={"quantities": ["p"]},
                     sensors=[{"name": "s", **shape, "count": count, "interpolation": "linear"}])
    shop.run(scene)
    with h5py.File(shop.folder / "out.h5") as out:
        x = out["sensors/position"][:]
        assert x.shape == (count, 3) and check(x)
        assert np.allclose(out["p"][:], 1)


def test_element_as_one_averaged_trace(shop):
    """A disc heard as one is the mean of its points; a plane wave along it averages out."""
    scene = flat(sensors=[{"name": "a", "shape": "line", "from": [5 * H, -8 * H, 0.0], "to": [5 * H, 8 * H, 0.0], "count": 40, "interpolation": "linear"},
                          {"name": "b", "shape": "line", "from": [5 * H, -8 * H, 0.0], "to": [5 * H, 8 * H, 0.0], "count": 40, "interpolation": "linear", "average": True}],
                 sources=[{"quantity": "p", "points_index": POINTS, "signal": BURST}])
    p = shop.run(scene).p
    assert p.shape[0] == 41 and relative_error(p[40], p[:40].mean(0)) < 1e-12


# ---- what is wrong ----

LINE = {"quantity": "p", "shape": "line", "from": [0.0, 0.0, 0.0], "to": [5e-4, 0.0, 0.0], "signal": BURST}


def without(source, *keys, **more):
    return {**{k: v for k, v in source.items() if k not in keys}, **more}


@pytest.mark.parametrize("source, words", [
    (without(LINE, "to"), ["sources[0].to", "missing"]),
    (without(LINE, to=[0.0, 0.0, 0.0]), ["sources[0].to", "differ"]),
    (without(LINE, to=[5e-3, 0.0, 0.0]), ["sources[0]", "leaves the grid along x"]),
    (without(LINE, radius=1e-3), ["sources[0].radius", "unknown key"]),
    (without(LINE, mode="dirichlet"), ["sources[0].mode", "snap"]),
    (without(LINE, quantity="u_normal"), ["sources[0].normal", "missing"]),
    (without(LINE, quantity="volume_velocity"), ["sources[0].shape", "point"]),
    (without(LINE, shape="cube"), ["sources[0].shape", "bowl"]),
    (without(LINE, "from", "to", shape="disc", radius=1e-3, normal=[1, 0, 0]), ["sources[0].shape", "3-D"]),
    (without(LINE, "from", "to", shape="arc", radius=1e-3, aperture=3e-3, normal=[1, 0, 0]), ["sources[0].aperture", "twice"]),
    (without(LINE, "from", "to", shape="arc", radius=1e-3, aperture=1e-3), ["sources[0].normal", "missing"]),
    (without(LINE, "from", "to", shape="arc", radius=1e-3, aperture=1e-3, normal=[1, 0, 0], focus=[1e-3, 0.0, 0.0]), ["focus", "contradicts"]),
    (without(LINE, "from", "to", "shape", elements=[]), ["sources[0].elements", "at least one"]),
    (without(LINE, elements=[]), ["sources[0].elements", "contradicts"]),
    (without(LINE, "from", "to", "shape", elements=[{"shape": "point", "delay": -1e-6}]), ["elements[0].delay", ">= 0"]),
    (without(LINE, delay_law={"focus": [1e-3, 0.0, 0.0]}), ["delay_law.sound_speed", "missing"]),
    (without(LINE, delay_law={"focus": [1e-3, 0.0, 0.0], "direction": [1, 0, 0], "sound_speed": 1500.0}), ["delay_law.direction", "contradicts"]),
    ({"quantity": "p", "points_index": POINTS, "signal": BURST, "delays": [0.0, 1e-7]}, ["sources[0].delays", "4 points", "2"]),
    ({"quantity": "p", "points_index": POINTS, "signal": BURST, "apodization": [1.0]}, ["sources[0].apodization", "4 points"]),
    ({"quantity": "p", "mode": "dirichlet", "points_index": POINTS, "signal": BURST, "delays": [0.0, 1e-7, 0.0, 0.0]}, ["sources[0].mode", "delays"]),
    ({"quantity": "u_normal", "points_index": POINTS, "signal": BURST}, ["sources[0].quantity", "surface"])])
def test_wrong_sources(shop, source, words):
    done = shop.try_run(flat(sources=[source]))
    assert done.code == 3 and all(word in done.err for word in words), done.err


@pytest.mark.parametrize("sensor, words", [
    ({"shape": "line", "from": [0.0, 0.0, 0.0], "to": [1e-4, 0.0, 0.0]}, ["sensors[0].count", "missing"]),
    ({"shape": "line", "from": [0.0, 0.0, 0.0], "to": [1e-4, 0.0, 0.0], "count": 0}, ["sensors[0].count", "from 1"]),
    ({"shape": "sphere", "radius": 1e-2, "count": 10}, ["sensors[0].radius", "does not fit"]),
    ({"shape": "point", "points_index": [[1, 1, 0]]}, ["sensors[0].points_index", "contradicts"])])
def test_wrong_sensors(shop, sensor, words):
    done = shop.try_run(flat(p0=1.0, sensors=[{"name": "s", **sensor}]))
    assert done.code == 3 and all(word in done.err for word in words), done.err


# ---- found by a review ----

def test_snapped_normal_velocity_keeps_its_direction(shop):
    """A snapped disc along z moves along z alone, and a tilted one by its normal."""
    scene = periodic([24, 24, 24], H, pml={"size": 4}, time={"cfl": 0.3, "steps": 20}, record={"quantities": ["u_final"]},
                     sources=[{"quantity": "u_normal", "snap": True, "shape": "disc", "radius": 4 * H, "normal": [0, 0, 1], "signal": BURST}])
    shop.run(scene)
    with h5py.File(shop.folder / "out.h5") as out:
        size = [np.abs(out[k][:]).max() for k in ("ux_final", "uy_final", "uz_final")]
    scene["sources"][0]["snap"] = False
    shop.run(scene)
    with h5py.File(shop.folder / "out.h5") as out:
        wanted = [np.abs(out[k][:]).max() for k in ("ux_final", "uy_final", "uz_final")]
    assert size[2] > 1.3 * size[0] and size[2] / size[0] == pytest.approx(wanted[2] / wanted[0], rel=0.3)


def test_signals_of_elements_that_do_not_move(shop):
    """A row for each element, also of those without a part along an axis or with no weight."""
    rows, = shop.maps(rows=np.array([sampled(0), 0.5 * sampled(1e-7)]))
    lines = [{"shape": "line", "from": [-12 * H, y * H, 0.0], "to": [-12 * H, (y + 4) * H, 0.0], "normal": [1, 0, 0]} for y in (-8, 3)]
    a = shop.run(flat(sources=[{"quantity": "u_normal", "elements": lines, "signal": rows}])).p
    b = shop.run(flat(sources=[{"quantity": "ux", "elements": lines, "signal": rows}])).p
    assert relative_error(a, b) < 1e-12
    silent = [lines[0], {**lines[1], "apodization": 0.0}]
    a = shop.run(flat(sources=[{"quantity": "p", "elements": silent, "signal": rows}])).p
    one, = shop.maps(first=sampled(0))
    b = shop.run(flat(sources=[{"quantity": "p", **lines[0], "signal": one}])).p
    assert relative_error(a, b) < 1e-12


def test_delay_laws_do_not_count_flat_axes(shop):
    line = {"quantity": "p", "points_index": POINTS, "signal": BURST}
    runs = [shop.run(flat(sources=[{**line, "delay_law": {"focus": [0.0, 5e-4, z], "sound_speed": C}}])).p for z in (0.0, 5e-3)]
    assert relative_error(*runs) < 1e-12
    done = shop.try_run(flat(sources=[{**line, "delay_law": {"direction": [1, 0, 1], "sound_speed": C}}]))
    assert done.code == 3 and "delay_law.direction" in done.err and "z axis" in done.err


def test_snapped_elements_have_one_delay_each(shop):
    lines = [{"shape": "line", "from": [-12 * H, y * H, 0.0], "to": [-12 * H, (y + s * 6) * H, 0.0]} for y, s in ((2, 1), (-2, -1))]
    array = {"quantity": "p", "elements": lines, "snap": True, "signal": BURST}
    law = {"focus": [5e-4, 0.0, 0.0], "sound_speed": C}
    assert relative_error(shop.run(flat(sources=[{**array, "delay_law": law}])).p, shop.run(flat(sources=[array])).p) < 1e-5


@pytest.mark.parametrize("source, words", [
    ({"quantity": "p", "shape": "line", "from": [0.0, 0.0, 0.0], "to": [10.0, 0.0, 0.0], "signal": BURST}, ["sources[0].to", "does not fit", "metres"]),
    ({"quantity": "p", "shape": "sphere", "radius": 10.0, "signal": BURST}, ["sources[0].radius", "does not fit"]),
    ({"quantity": "p", "points_index": POINTS, "signal": BURST, "delays": [0.0, 1e20, 0.0, 0.0]}, ["delay", "1e+20"]),
    ({"quantity": "u_normal", "elements": [{"shape": "line", "from": [0.0, 0.0, 0.0], "to": [5e-4, 0.0, 0.0], "normal": [0, 1, 0], "apodization": 0.0}], "signal": BURST}, ["apodization", "nothing would move"])])
def test_wrong_sizes_are_found_at_once(shop, source, words):
    done = shop.try_run(flat(sources=[source]), timeout=20)
    assert done.code == 3 and all(word in done.err for word in words), done.err
