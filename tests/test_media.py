"""Absorption, dispersion, nonlinearity and sources against closed forms. CPU, double precision."""
import numpy as np
import pytest

from conftest import periodic, relative_error

H, C, RHO = 1e-4, 1500.0, 1000.0


def line(n=1024, pml=30, **more):
    """A 1-D run along x."""
    return periodic([n, 1, 1], pml={"size": [pml, 0, 0]}, record={"quantities": ["p"]}, **more)


def at(*points):
    """Sensors at coordinates, in grid points from the middle."""
    return [{"name": "s", "points": [[x * H, 0.0, 0.0] for x in points]}]


# ---- absorption and dispersion ----

STEPS, CFL = 1600, 0.2


def transfer(shop, alpha, y, near=30, far=180, **switches):
    """Attenuation in dB per cm and phase slowness against c0 in s/m, at 1, 2 and 3 MHz, from one pulse at two places."""
    scene = line(640, medium={"sound_speed": C, "density": RHO, "absorption": {"coefficient": alpha, "power": y, **switches}},
                 p0={"shapes": [{"shape": "gaussian", "sigma": 1.2 * H, "value": 1.0}]}, sensors=at(near, far),
                 time={"cfl": CFL, "steps": STEPS})
    p = shop.run(scene).p
    dt, distance = CFL * H / C, (far - near) * H
    frequency = np.array([1e6, 2e6, 3e6])
    kernel = np.exp(-2j * np.pi * frequency[:, None] * np.arange(STEPS) * dt)
    ratio = (kernel @ p[1]) / (kernel @ p[0])
    attenuation = -20 * np.log10(np.abs(ratio)) / (distance * 100)
    # the phase is known to whole turns from c0
    phase = -np.angle(ratio * np.exp(2j * np.pi * frequency * distance / C))
    return frequency, attenuation, phase / (2 * np.pi * frequency * distance)


@pytest.mark.parametrize("y", [0.7, 1.1, 1.5, 2.0])
def test_power_law(shop, y):
    """alpha f^y in dB/cm, and 1/c = 1/c0 + alpha_Np tan(pi y/2) omega^(y-1) (Kramers-Kronig). The scheme takes the
    absorbing term from velocities half a step old, which lowers the slowness by alpha_Np(omega) dt/2."""
    alpha = 0.25
    frequency, attenuation, slowness = transfer(shop, alpha, y)
    assert np.abs(attenuation / (alpha * (frequency * 1e-6)**y) - 1).max() < 0.02
    nepers = 100 * alpha * (1e-6 / (2 * np.pi))**y / (20 * np.log10(np.e))
    wanted = nepers * np.tan(np.pi * y / 2) * (2 * np.pi * frequency)**(y - 1) if y != 2 else 0 * frequency
    wanted = wanted - nepers * (2 * np.pi * frequency)**y * 0.5 * CFL * H / C
    assert np.abs(slowness - wanted).max() < 0.03 * max(np.abs(wanted).max(), 1e-3 / C)


def test_switches_turn_off_their_own_term(shop):
    frequency, attenuation, slowness = transfer(shop, 0.25, 1.5, attenuation=False)
    assert np.abs(attenuation).max() < 0.01 and np.abs(slowness).min() > 1e-7
    frequency, attenuation, slowness = transfer(shop, 0.25, 1.5, dispersion=False)
    assert np.abs(attenuation / (0.25 * (frequency * 1e-6)**1.5) - 1).max() < 0.02
    assert np.abs(slowness).max() < 0.03 * 6e-6


def test_each_half_attenuates_with_its_own_coefficient(shop):
    """A map of two halves, as the ratio of the outer to the inner sensor on either side."""
    scene = line(medium={"sound_speed": C, "density": RHO, "absorption": {"coefficient": 0.2, "power": 1.5}, "regions": [
        {"shape": "halfspace", "normal": [1, 0, 0], "absorption_coefficient": 0.6}]},
        p0={"shapes": [{"shape": "gaussian", "sigma": 2 * H, "value": 1.0}]}, sensors=at(-250, -100, 100, 250),
        time={"cfl": 0.3, "steps": 1100})
    p = shop.run(scene).p
    kernel = np.exp(-2j * np.pi * 1.5e6 * np.arange(1100) * 0.3 * H / C)
    size = 20 * np.log10(np.abs(p @ kernel))
    left, right = size[1] - size[0], size[2] - size[3]
    assert left == pytest.approx(0.2 * 1.5**1.5 * 1.5, rel=0.03) and right == pytest.approx(0.6 * 1.5**1.5 * 1.5, rel=0.03)


@pytest.mark.parametrize("y", [0.95, 0.99, 1.01, 1.05])
def test_powers_near_one_are_finite(shop, y):
    scene = line(256, medium={"sound_speed": C, "density": RHO, "absorption": {"coefficient": 0.75, "power": y}},
                 p0={"shapes": [{"shape": "gaussian", "sigma": 3 * H, "value": 1.0}]}, sensors=at(60), time={"cfl": 0.3, "steps": 600})
    done = shop.try_run(scene, "--precision", "double")
    assert done.code in (0, 3), done.err  # runs, or is refused before it starts
    assert done.code == 0 or "stability criterion" in done.err


@pytest.mark.parametrize("y, stable", [(0.999, False), (1.001, False), (1.5, True)])
def test_absorbing_stability_is_decided_before_the_run(shop, y, stable):
    p0, = shop.maps(p0=np.random.default_rng(1).standard_normal((18, 16, 20)))
    scene = periodic([18, 16, 20], p0=p0, time={"cfl": 0.3, "steps": 2000}, medium={
        "sound_speed": C, "density": RHO, "absorption": {"coefficient": 0.75, "power": y}})
    done = shop.try_run(scene, "--precision", "double")
    assert done.code == (0 if stable else 3)
    if not stable:  # and it was right
        scene["time"]["allow_unstable"] = True
        assert shop.try_run(scene, "--precision", "double", "--force").code == 5


# ---- nonlinearity ----

def test_fubini_second_harmonic(shop):
    """A plane wave of B/A = 6: p2/p1 = J2(2 s)/(2 J1(s)) at half the shock distance."""
    frequency, pressure, steps = 0.5e6, 5e6, 3000
    cfl = 0.3
    dt = cfl * H / C
    beta, k = 1 + 6.0 / 2, 2 * np.pi * frequency / C
    sigma = 0.5
    distance = sigma / (beta * k * pressure / (RHO * C**2))
    t = np.arange(steps) * dt
    signal, = shop.maps(signal=pressure * np.sin(2 * np.pi * frequency * t) * np.clip(t * frequency / 3, 0, 1))
    n = int(round(distance / H))
    scene = line(600, medium={"sound_speed": C, "density": RHO, "nonlinearity": 6.0}, sensors=at(-200 + n), time={"cfl": cfl, "steps": steps},
                 sources=[{"quantity": "p", "mode": "dirichlet", "points": [[-200 * H, 0.0, 0.0]], "signal": signal}])
    p = shop.run(scene).p[0]
    period = int(round(1 / frequency / dt))
    last = slice(steps - 2 * period, steps)
    harmonic = [abs(np.sum(p[last] * np.exp(-2j * np.pi * m * frequency * t[last]))) for m in (1, 2)]

    def bessel(order, x):
        angle = (np.arange(2000) + 0.5) * np.pi / 2000
        return np.mean(np.cos(order * angle - x * np.sin(angle)))
    s = n * H * beta * k * pressure / (RHO * C**2)
    assert harmonic[1] / harmonic[0] == pytest.approx(bessel(2, 2 * s) / (2 * bessel(1, s)), rel=0.02)


def test_mendousse_harmonics(shop):
    """A plane wave in a thermoviscous, nonlinear medium (power 2): Mendousse's series, J. Acoust. Soc. Am. 25 (1953). A
    source of one point loses some of its strength to absorption in the point itself, so the strength is that of the
    fundamental a little way from it."""
    frequency, nominal, steps, cfl = 0.5e6, 5e6, 3000, 0.3
    dt, alpha, near = cfl * H / C, 0.27, 30
    beta, k = 1 + 6.0 / 2, 2 * np.pi * frequency / C
    nepers = alpha * (frequency * 1e-6)**2 * 100 / (20 * np.log10(np.e))
    t = np.arange(steps) * dt
    signal, = shop.maps(signal=nominal * np.sin(2 * np.pi * frequency * t) * np.clip(t * frequency / 3, 0, 1))
    scene = line(700, medium={"sound_speed": C, "density": RHO, "nonlinearity": 6.0, "absorption": {"coefficient": alpha, "power": 2.0}},
                 sensors=at(-250 + near, 130), time={"cfl": cfl, "steps": steps},
                 sources=[{"quantity": "p", "mode": "dirichlet", "points": [[-250 * H, 0.0, 0.0]], "signal": signal}])
    p = shop.run(scene).p
    period = int(round(1 / frequency / dt))
    last = slice(steps - 2 * period, steps)
    got = [[abs(np.sum(row[last] * np.exp(-2j * np.pi * m * frequency * t[last]))) / period for m in (1, 2, 3)] for row in p]
    angle = (np.arange(4096) + 0.5) * 2 * np.pi / 4096
    orders = np.arange(1, 60)

    def series(pressure, distance):
        shock = RHO * C**2 / (beta * k * pressure)
        goldberg = 1 / (nepers * shock)
        weight = np.array([(-1)**m * np.mean(np.exp(goldberg / 2 * np.cos(angle)) * np.cos(m * angle)) * np.exp(-m**2 * nepers * distance)
                           for m in orders])
        wave = 4 / goldberg * (-weight * orders) @ np.sin(np.outer(orders, angle))
        wave = wave / (np.mean(np.exp(goldberg / 2 * np.cos(angle))) + 2 * weight @ np.cos(np.outer(orders, angle)))
        return np.array([abs(np.mean(wave * np.exp(-1j * m * angle))) * 2 * pressure for m in (1, 2, 3)])
    pressure = nominal
    for _ in range(20):
        pressure *= got[0][0] / series(pressure, near * H)[0]
    assert abs(pressure / nominal - 1) < 0.05
    wanted = series(pressure, 380 * H)
    assert wanted[1] > 0.2 * wanted[0]
    assert np.abs(got[1] / wanted - 1).max() < 0.02


# ---- sources ----

def plane_wave(shop, axis, quantity, mode, spacing=H, pressure=1.0):
    """Amplitude of the wave far from a plane of points, across a grid without PML to the sides."""
    size, pml, place = [4, 4, 4], [0, 0, 0], [0.0] * 3
    size[axis], pml[axis], place[axis] = 200, 20, 40 * spacing
    frequency, steps = 1e6, 900
    t = np.arange(steps) * 0.3 * spacing / C
    drive = np.sin(2 * np.pi * frequency * t) * np.clip(t * frequency / 4, 0, 1)
    signal, = shop.maps(signal=drive * (pressure if quantity == "p" else pressure / (RHO * C)))
    scene = periodic(size, spacing, pml={"size": pml}, time={"cfl": 0.3, "steps": steps}, record={"quantities": ["p"]},
                     sensors=[{"name": "s", "points": [place]}],
                     sources=[{"quantity": quantity, "mode": mode, "plane": {"axis": "xyz"[axis], "position": 0.0}, "signal": signal}])
    p = shop.run(scene).p[0]
    last = slice(steps - 100, steps)
    waves = np.stack([np.sin(2 * np.pi * frequency * t[last]), np.cos(2 * np.pi * frequency * t[last])], 1)
    return np.linalg.norm(np.linalg.lstsq(waves, p[last], rcond=None)[0])


@pytest.mark.parametrize("quantity", ["p", "u"])
def test_a_plane_of_one_pascal_sends_one_pascal_along_every_axis(shop, quantity):
    names = ["p"] * 3 if quantity == "p" else ["ux", "uy", "uz"]
    sizes = [plane_wave(shop, axis, names[axis], "additive") for axis in range(3)]
    assert np.abs(np.array(sizes) - 1).max() < 5e-3
    assert max(sizes) - min(sizes) < 1e-10


def test_correction_of_additive_sources_is_what_it_is_for(shop):
    """Few points per period: with the correction 1 Pa, without it too much."""
    with_it, without = (plane_wave(shop, 0, "p", mode, spacing=4.5 * H) for mode in ("additive", "additive-no-correction"))
    assert abs(with_it - 1) < 1e-2 and without > 1.02


def test_each_point_is_scaled_by_its_own_speed(shop):
    """Two media side by side along a plane of points: each half sends the drive's amplitude."""
    size, t = [100, 256, 1], np.arange(210) * 0.3 * H / 2000
    signal, = shop.maps(signal=np.sin(2 * np.pi * 1e6 * t) * np.clip(t * 1e6, 0, 1))
    scene = periodic(size, pml={"size": [20, 0, 0]}, time={"cfl": 0.3, "steps": 210}, record={"quantities": ["p"]},
                     medium={"sound_speed": 1500.0, "density": RHO, "regions": [
                         {"shape": "halfspace", "point": [0.0, 0.5e-4, 0.0], "normal": [0, 1, 0], "sound_speed": 2000.0}]},
                     sensors=[{"name": "s", "points_index": [[54, 64, 0], [54, 192, 0]]}],
                     sources=[{"quantity": "p", "plane": {"axis": "x", "position": 0.0}, "signal": signal}])
    p = shop.run(scene).p  # what comes from the seams, 64 points away, arrives at the end
    for row in p:
        assert np.abs(row[110:200]).max() == pytest.approx(1, abs=0.02)


def test_initial_pressure_is_two_clicks(shop):
    """p0 equals an additive source of p0/(4 CFL) in steps 0 and 1, without correction, PML and absorption."""
    size, cfl = [20, 18, 16], 0.3
    p0 = np.random.default_rng(1).standard_normal(size)
    index = np.stack(np.meshgrid(*(np.arange(n) for n in size), indexing="ij"), -1).reshape(-1, 3)
    files = shop.maps(p0=p0, index=index, signal=np.repeat(p0.reshape(-1, 1), 2, 1) / (4 * cfl))
    common = {"time": {"cfl": cfl, "steps": 40}}
    one = shop.run(periodic(size, p0=files[0], **common)).p_final
    two = shop.run(periodic(size, sources=[{"quantity": "p", "mode": "additive-no-correction", "points_index": files[1], "signal": files[2]}],
                            **common)).p_final
    assert relative_error(two, one) < 1e-12


def test_dirichlet_point_holds_its_signal_and_idle_sources_do_nothing(shop):
    drive = np.random.default_rng(2).standard_normal(80)
    signal, = shop.maps(signal=drive)
    scene = periodic([32, 28, 24], pml={"size": 4}, time={"cfl": 0.3, "steps": 80}, record={"quantities": ["p"]},
                     sensors=[{"name": "s", "points_index": [[12, 13, 14]]}],
                     sources=[{"quantity": "p", "mode": "dirichlet", "points_index": [[12, 13, 14]], "signal": signal}])
    assert relative_error(shop.run(scene).p[0], drive) < 1e-12
    ball = {"shapes": [{"shape": "ball", "radius": 4e-4, "value": 1.0}]}
    quiet = dict(scene, p0=ball, sources=[{"quantity": "p", "points_index": [[20, 13, 14]], "signal": [0.0, 0.0]}])
    alone = dict(scene, p0=ball)
    del alone["sources"]
    assert (shop.run(quiet).p == shop.run(alone).p).all()


@pytest.mark.parametrize("after, reflects", [("hold", True), ("zero", True), ("stop", False)])
def test_what_a_dirichlet_wall_does_after_its_signal(shop, after, reflects):
    """ux = 0 on a plane with a signal of one sample: a rigid wall for as long as it is held."""
    scene = line(256, 20, p0={"shapes": [{"shape": "gaussian", "center": [-60 * H, 0.0, 0.0], "sigma": 4 * H, "value": 2.0}]},
                 sensors=at(-30), time={"cfl": 0.3, "steps": 600},
                 sources=[{"quantity": "ux", "mode": "dirichlet", "points": [[0.0, 0.0, 0.0]], "signal": [0.0], "after": after}])
    p = shop.run(scene).p[0]
    passed = int(60 / 0.3)
    back = np.abs(p[passed:]).max() / np.abs(p[:passed]).max()
    assert back == pytest.approx(1, abs=0.02) if reflects else back < 1e-3


@pytest.mark.parametrize("length", [1, 2, 49, 50, 60])
def test_signals_of_every_length(shop, length):
    """After its end an additive signal adds nothing; what is beyond the run is not used."""
    drive = np.random.default_rng(3).standard_normal(length)
    padded = np.zeros(50)
    padded[:min(length, 50)] = drive[:50]
    files = shop.maps(short=drive, padded=padded)
    scene = periodic([24, 20, 18], pml={"size": 4}, time={"cfl": 0.3, "steps": 50}, record={"quantities": ["p_final"]})
    runs = [shop.run(dict(scene, sources=[{"quantity": "p", "points_index": [[12, 10, 9]], "signal": file}])).p_final for file in files]
    assert (runs[0] == runs[1]).all()


def test_rows_of_a_signal_belong_to_the_points_in_their_order(shop):
    """Three points whose order differs by every axis, each with its own frequency, each heard beside it."""
    points, frequencies = [[20, 4, 20], [4, 20, 12], [12, 12, 4]], [1e6, 2e6, 3e6]
    t = np.arange(300) * 0.3 * H / C
    signal, = shop.maps(signal=np.array([np.sin(2 * np.pi * f * t) for f in frequencies]))
    scene = periodic([26, 26, 26], pml={"size": 3}, time={"cfl": 0.3, "steps": 300}, record={"quantities": ["p"]},
                     sensors=[{"name": "s", "points_index": points}],
                     sources=[{"quantity": "p", "points_index": points, "signal": signal}])
    p = shop.run(scene).p
    strength = np.abs(p @ np.exp(-2j * np.pi * np.outer(t, frequencies)))
    assert (strength.argmax(1) == [0, 1, 2]).all()


def test_a_point_listed_twice(shop):
    """Adds twice; as Dirichlet the last counts."""
    scene = periodic([20, 18, 16], time={"cfl": 0.3, "steps": 20}, pml={"size": 3}, record={"quantities": ["p"]},
                     sensors=[{"name": "s", "points_index": [[10, 9, 8]]}])
    files = shop.maps(two=np.array([[1.0] * 5, [2.0] * 5]))

    def run(mode, points, signal):
        return shop.run(dict(scene, sources=[{"quantity": "p", "mode": mode, "points_index": points, "signal": signal}])).p
    point = [10, 9, 8]
    for mode in ("additive", "additive-no-correction"):
        assert relative_error(run(mode, [point, point], files[0]), run(mode, [point], [3.0] * 5)) < 1e-13
    assert (run("dirichlet", [point, point], files[0]) == run("dirichlet", [point], [2.0] * 5)).all()


def test_twice_the_drive_is_twice_the_field_to_the_bit(shop):
    drive = np.random.default_rng(4).standard_normal(30)
    files = shop.maps(one=drive, two=2 * drive)
    scene = periodic([20, 18, 16], time={"cfl": 0.3, "steps": 40}, pml={"size": 3}, medium={
        "sound_speed": C, "density": RHO, "absorption": {"coefficient": 0.5, "power": 1.5}})
    for quantity in ("p", "uy"):
        one, two = (shop.run(dict(scene, sources=[{"quantity": quantity, "points_index": [[10, 9, 8]], "signal": f}]), double=False).p_final
                    for f in files)
        assert (two == 2 * one).all()


def test_clock_of_additive_sources(shop):
    """Driven with s(n dt), a pressure source radiates s(t + dt/2); a velocity source s(t + dt), t the clock of p."""
    dt = 0.3 * H / C
    n, width = 400, 20 * dt

    def pulse(t):
        return np.exp(-((t - 120 * dt) / width)**2 / 2)
    for quantity, early, from_point in (("p", 0.5, 0.0), ("ux", 1.0, 0.5)):
        factor = 1.0 if quantity == "p" else 1 / (RHO * C)
        signal, = shop.maps(signal=factor * pulse(np.arange(n) * dt))
        scene = line(256, 20, sensors=at(30), time={"dt": dt, "steps": n},
                     sources=[{"quantity": quantity, "points": [[0.0, 0.0, 0.0]], "signal": signal}])
        t = np.arange(n) * dt
        wanted = pulse(t - (30 - from_point) * H / C + early * dt)
        assert relative_error(shop.run(scene).p[0], wanted) < 2e-3


# ---- signals from recipes ----

def recorded(shop, recipe, steps=400):
    """The recipe's signal, as a Dirichlet point holds it, and its times."""
    scene = line(64, 8, time={"dt": 2e-8, "steps": steps}, sensors=at(0),
                 sources=[{"quantity": "p", "mode": "dirichlet", "points": [[0.0, 0.0, 0.0]], "signal": recipe}])
    result = shop.run(scene)
    return result.time, result.p[0]


@pytest.mark.parametrize("window", ["none", "hann", "gaussian"])
def test_tone_burst(shop, window):
    t, p = recorded(shop, {"type": "tone_burst", "amplitude": 3.0, "frequency": 1e6, "cycles": 4, "window": window, "phase": 0.5, "delay": 1e-6})
    x = (t - 1e-6) / 4e-6
    shape = {"none": 1 + 0 * x, "hann": np.sin(np.pi * x)**2, "gaussian": np.exp(-18 * (x - 0.5)**2)}[window]
    wanted = np.where((x >= 0) & (x <= 1), 3 * shape * np.sin(2 * np.pi * 1e6 * (t - 1e-6) + 0.5), 0)
    inside = (np.abs(x) > 1e-9) & (np.abs(x - 1) > 1e-9)  # at the ends rounding decides
    assert np.abs(p - wanted)[inside].max() < 1e-9


def test_continuous_wave_rises_and_stays(shop):
    t, p = recorded(shop, {"type": "continuous", "amplitude": 2.0, "frequency": 1e6, "ramp_cycles": 2})
    ramp = np.where(t < 2e-6, 0.5 - 0.5 * np.cos(np.pi * t / 2e-6), 1)
    assert np.abs(p - 2 * ramp * np.sin(2 * np.pi * 1e6 * t)).max() < 1e-9


def test_gaussian_pulse_has_its_bandwidth(shop):
    t, p = recorded(shop, {"type": "gaussian_pulse", "amplitude": 1.0, "frequency": 2e6, "bandwidth": 0.5})
    def level(f):
        return abs(np.sum(p * np.exp(-2j * np.pi * f * t)))
    assert p.max() == pytest.approx(1, abs=1e-3)
    for edge in (1.5e6, 2.5e6):
        assert 20 * np.log10(level(edge) / level(2e6)) == pytest.approx(-6.02, abs=0.05)


def test_chirp_sweeps(shop):
    t, p = recorded(shop, {"type": "chirp", "amplitude": 1.0, "frequency": 0.5e6, "end_frequency": 2e6, "duration": 6e-6, "window": "none"})
    wanted = np.where(t <= 6e-6 + 1e-12, np.sin(2 * np.pi * (0.5e6 * t + 1.5e6 * t**2 / 12e-6)), 0)
    assert np.abs(p - wanted)[np.abs(t - 6e-6) > 1e-9].max() < 1e-9


def test_recipes_are_checked(shop):
    base = {"type": "tone_burst", "amplitude": 1.0, "frequency": 1e6, "cycles": 3}
    for change, message in (({"frequency": 0.0}, "signal.frequency: must be a number > 0 Hz"), ({"cycles": -1}, "signal.cycles"),
                            ({"type": "burst"}, "signal.type: must be one of: tone_burst"), ({"cyles": 1}, "nearest known key: cycles"),
                            ({"bandwidth": 1.0}, "signal.bandwidth: unknown key"), ({"window": "blackman"}, "must be one of: none hann gaussian")):
        done = shop.try_run(line(64, 8, time={"cfl": 0.3, "steps": 5}, sensors=at(0),
                                 sources=[{"quantity": "p", "points": [[0.0, 0.0, 0.0]], "signal": {**base, **change}}]))
        assert done.code == 3 and message in done.err
    done = shop.try_run(line(64, 8, time={"cfl": 0.3, "steps": 5}, sensors=at(0),
                             sources=[{"quantity": "p", "points": [[0.0, 0.0, 0.0]], "signal": {**base, "frequency": 9e6}}]))
    assert done.code == 0 and "1.67 points per wavelength" in done.err and "warning" in done.err


def test_the_medium_is_said_and_kept(shop):
    import h5py
    scene = line(64, 8, medium={"sound_speed": C, "density": RHO, "nonlinearity": 6.0, "absorption": {"coefficient": 0.75, "power": 1.5}},
                 time={"cfl": 0.3, "steps": 5}, sensors=at(0), sources=[{"quantity": "p", "points": [[0.0, 0.0, 0.0]], "signal": [0.0, 1.0]}])
    result = shop.run(scene)
    for part in ("alpha 0.75 dB/(MHz^y cm), y 1.5", "B/A 6", "1 points in 1 sources"):
        assert part in result.done.err
    with h5py.File(shop.folder / "out.h5") as file:
        kept = file["medium"].attrs
        assert list(kept["absorption_range"]) == [0.75, 0.75] and kept["absorption_power"] == 1.5 and kept["dispersion"] == 1
        assert kept["absorption_units"] == "dB/(MHz^y cm)" and list(kept["nonlinearity_range"]) == [6, 6]


@pytest.mark.parametrize("n, coefficient, code", [(64, 19.8, 0), (65536, 4.7, 3)])
def test_powers_below_one_are_judged_at_the_smallest_wavenumber(shop, n, coefficient, code):
    """1 - eta k^(y-1) is least at the longest wave of the grid: a long grid can be unstable where a short one is not."""
    scene = line(n, 8, medium={"sound_speed": C, "density": RHO, "absorption": {"coefficient": coefficient, "power": 0.5}},
                 p0={"shapes": [{"shape": "gaussian", "sigma": 3 * H, "value": 1.0}]}, sensors=at(0), time={"cfl": 0.3, "steps": 2000})
    done = shop.try_run(scene, "--precision", "double", *(["--dry-run"] if code else []))
    assert done.code == code, done.err
