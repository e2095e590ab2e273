"""Recordings: what record, a set's own keys and snapshots keep, on every backend."""
import os

import h5py
import numpy as np
import pytest

from conftest import need, periodic, relative_error, slow
from test_golden import REFERENCE, golden_scene

H, C, RHO = 1e-4, 1500.0, 1000.0
EVERYTHING = ["p", "p_max", "p_min", "p_rms", "p_final", "p_max_all", "p_min_all", "p_rms_all", "u", "u_max", "u_min",
              "u_rms", "u_non_staggered", "u_final", "u_max_all", "u_min_all", "u_rms_all"]
BACKENDS = [("cpu", True), ("cpu", False), ("cuda", False)]


def run_file(shop, scene, backend="cpu", double=True, *arguments):
    """Runs and returns the open output."""
    need(backend)
    shop.run(scene, *arguments, double=double, backend=backend)
    return h5py.File(shop.folder / "out.h5")


def blob(**more):
    """A small 3-D run of a smooth blob off the middle, in layers."""
    scene = periodic([24, 20, 22], H, pml={"size": [4, 4, 4]}, time={"cfl": 0.3, "steps": 60},
                     p0={"shapes": [{"shape": "gaussian", "center": [2 * H, -H, H], "sigma": 2.5 * H, "value": 1e3}]},
                     sensors=[{"name": "s", "points_index": [[12, 10, 11], [7, 9, 12], [16, 14, 6], [5, 5, 5]]}])
    scene["medium"]["regions"] = [{"shape": "halfspace", "normal": [0, 1, 0], "sound_speed": 1700.0, "density": 1200.0}]
    scene.update(more)
    return scene


@pytest.mark.parametrize("backend, double", BACKENDS)
def test_everything_that_the_field_records(shop, backend, double):
    scene = golden_scene("record_everything")
    scene["record"]["quantities"] = EVERYTHING
    with run_file(shop, scene, backend, double) as out, \
            h5py.File(os.path.join(REFERENCE, "record_everything.h5")) as file:
        for name, wanted in file["expected"].items():
            bound = 3e-5 if "final" in name else 5e-6
            assert relative_error(out[name][:], wanted[:]) < bound, name
            assert out[name].attrs["units"] == ("Pa" if name[0] == "p" else "m/s")
        assert out["p_max_all"].shape == (36, 40, 45) and out["p_max"].shape == (24,)


@pytest.mark.parametrize("backend, double", BACKENDS)
def test_cuboids(shop, backend, double):
    scene = golden_scene("record_cuboids")
    scene["record"]["quantities"] = ["p_max", "p_rms"]
    with run_file(shop, scene, backend, double) as out, h5py.File(os.path.join(REFERENCE, "record_cuboids.h5")) as file:
        for name in ("p_max", "p_rms"):
            wanted = np.concatenate([file["expected"][name][key][:].ravel() for key in "12"])
            assert relative_error(out[name][:], wanted) < 5e-6
        assert "p" not in out


@pytest.mark.parametrize("backend, double", BACKENDS)
def test_results_follow_from_the_series(shop, backend, double):
    """Over a window with a stride, and everything at once; the whole grid agrees with its points."""
    scene = blob(record={"quantities": EVERYTHING + ["p_fourier", "u_fourier", "p_fourier_all"], "from_step": 7,
                         "to_step": 52, "every": 3, "frequencies": [1e6, 2.2e6]})
    eps = 1e-12 if double else 3e-6
    with run_file(shop, scene, backend, double) as out:
        t = out["time"][:]
        dt = out["time"].attrs["dt"]
        assert np.allclose(t, dt * np.arange(7, 53, 3), rtol=1e-12) and out["p"].shape == (4, 16)
        index = tuple(out["sensors/index"][:].T)
        for key in ("p", "ux", "uy", "uz"):
            series = out[key][:].astype(float)
            assert np.array_equal(out[key + "_max"][:], out[key][:].max(1))
            assert np.array_equal(out[key + "_min"][:], out[key][:].min(1))
            assert relative_error(out[key + "_rms"][:], np.sqrt((series**2).mean(1))) < eps
            for kind in ("max", "min", "rms"):
                assert relative_error(out["%s_%s_all" % (key, kind)][:][index], out["%s_%s" % (key, kind)][:]) < eps
            if key != "p":
                series, when = out[key + "_non_staggered"][:].astype(float), t - dt / 2
            else:
                when = t
            for f, frequency in enumerate((1e6, 2.2e6)):
                wanted = 2 / len(t) * series @ np.exp(-2j * np.pi * frequency * when)
                got = out[key + "_amplitude"][:, f] * np.exp(1j * out[key + "_phase"][:, f].astype(float))
                assert relative_error(np.abs(got - wanted) + np.abs(wanted), np.abs(wanted)) < 3 * eps
        assert out["p_amplitude_all"].shape == (2, 24, 20, 22)
        assert relative_error(out["p_amplitude_all"][1][index], out["p_amplitude"][:, 1]) < eps
        assert list(out["p_amplitude"].attrs["frequencies"]) == [1e6, 2.2e6]


def centred(u, axis):
    """u moved by half a cell down its axis: the definition."""
    n = u.shape[axis]
    k = np.fft.fftfreq(n) * 2 * np.pi
    shift = np.exp(-0.5j * k)
    if n % 2 == 0:
        shift[n // 2] = 0
    shape = [1] * u.ndim
    shape[axis] = n
    return np.fft.ifft(np.fft.fft(u, axis=axis) * shift.reshape(shape), axis=axis).real


@pytest.mark.parametrize("size", [[24, 20, 22], [15, 21, 13], [1, 24, 17], [26, 1, 15], [31, 18, 1], [1, 40, 1]])
@pytest.mark.parametrize("backend, double", BACKENDS)
def test_velocity_at_the_grid_point(shop, backend, double, size):
    pml = [0 if n == 1 else 3 for n in size]
    scene = blob(grid={"size": size, "spacing": H}, pml={"size": pml}, medium={"sound_speed": 1500.0, "density": 1000.0}, sensors=[
        {"name": "all", "box_index": {"min": [0, 0, 0], "max": [n - 1 for n in size]}}],
        record={"quantities": ["u", "u_non_staggered", "u_final"], "from_step": 25, "to_step": 25},
        snapshots=[{"name": "grid", "every": 1, "from_step": 25, "to_step": 25, "quantities": ["p", "u", "u_non_staggered"]}])
    with run_file(shop, scene, backend, double) as out:
        for axis, key in enumerate(("ux", "uy", "uz")):
            assert (key in out) == (size[axis] > 1)
            if size[axis] == 1:
                continue
            u = out[key][:].reshape(size)
            wanted = centred(u.astype(float), axis)
            for got in (out[key + "_non_staggered"][:].reshape(size), out["snapshots/grid/%s_non_staggered" % key][0]):
                assert relative_error(got, wanted) < (1e-12 if double else 1e-6)
            assert np.array_equal(out["snapshots/grid/" + key][0], u)


@pytest.mark.parametrize("backend, double", BACKENDS)
def test_snapshots(shop, backend, double):
    """Planes, boxes and the grid every few steps are what the sensors see; the last grid is p_final."""
    scene = blob(record={"quantities": ["p", "p_final"]}, snapshots=[
        {"name": "all", "every": 59}, {"name": "plane", "plane_index": {"axis": "y", "position": 10}, "every": 7, "from_step": 3},
        {"name": "box", "box_index": {"min": [5, 4, 3], "max": [16, 14, 12]}, "every": 1, "to_step": 20}])
    with run_file(shop, scene, backend, double) as out:
        p, dt = out["p"][:], out["time"].attrs["dt"]
        assert out["snapshots/all/p"].shape == (2, 24, 20, 22)
        assert np.array_equal(out["snapshots/all/p"][1], out["p_final"][:])
        plane = out["snapshots/plane"]
        steps = np.arange(3, 60, 7)
        assert plane["p"].shape == (len(steps), 24, 1, 22) and np.allclose(plane["time"][:], dt * steps)
        assert np.array_equal(plane["p"][:, 12, 0, 11], p[0, steps])
        box = out["snapshots/box"]
        assert box["p"].shape == (21, 12, 11, 10) and list(box.attrs["box_index"]) == [5, 4, 3]
        assert np.array_equal(box["p"][:, 7, 6, 8], p[0, :21]) and np.array_equal(box["p"][:, 2, 5, 9], p[1, :21])


def test_sets_with_quantities_and_windows_of_their_own(shop):
    points = [[12, 10, 11], [7, 9, 12]]
    scene = blob(record={"quantities": ["p"]}, sensors=[
        {"name": "late", "points_index": points, "from_step": 30, "every": 2},
        {"name": "common", "points_index": points},
        {"name": "loudest", "points_index": points[:1], "quantities": ["p_max", "u_rms"]}])
    with run_file(shop, scene) as out:
        assert [name.decode() for name in out["sensors/names"][:]] == ["common", "late", "loudest"]
        assert out["p"].shape == (2, 60)
        assert np.array_equal(out["sets/late/p"][:], out["p"][:, 30::2])
        assert np.allclose(out["sets/late/time"][:], out["time"][30::2])
        assert out["sets/loudest/p_max"][0] == out["p"][0].max() and "p" not in out["sets/loudest"]
        assert out["sets/late"].attrs["first_row"] == 2 and out["sensors/set"][:].tolist() == [0, 0, 1, 1, 2]


def smooth_source(shop, size, axis, frequency, steps, dt, amplitude):
    """A plane wave from a layer of Gaussian strength: a sharp plane of points has tails of the shortest wave length."""
    profile = np.exp(-0.5 * (np.arange(-10, 11) / 3.0)**2)
    places = np.stack(np.meshgrid(*[np.arange(30, 51) if i == axis else np.arange(n) for i, n in enumerate(size)], indexing="ij"), -1)
    weight = profile[places.reshape(-1, 3)[:, axis] - 30]
    t = np.arange(steps) * dt
    wave = amplitude * np.sin(2 * np.pi * frequency * t) * np.sin(np.clip(t * frequency / 6, 0, 1) * np.pi / 2)**2
    k = 2 * np.pi * frequency / C * H
    gain = np.sum(profile * np.cos(k * np.arange(-10, 11)))
    index, signal = shop.maps(index=places.reshape(-1, 3), signal=weight[:, None] * wave / gain)
    return {"quantity": "p", "points_index": index, "signal": signal}


@pytest.mark.parametrize("backend, double", BACKENDS)
def test_intensity_of_a_plane_wave(shop, backend, double):
    """I = p^2/(2 rho c) along the wave, whatever its direction along the axes; its divergence vanishes where nothing
    absorbs."""
    frequency, amplitude, cfl = 1e6, 2e4, 0.3
    dt = cfl * H / C
    period = int(round(1 / frequency / dt))
    steps = 20 * period
    for axis in range(3):
        size, pml, place = [4, 4, 4], [0, 0, 0], [1, 2, 3]
        size[axis], pml[axis], place[axis] = 160, 20, 110
        scene = periodic(size, pml={"size": pml}, time={"dt": dt, "steps": steps}, sensors=[{"name": "s", "points_index": [place]}],
                         sources=[smooth_source(shop, size, axis, 1 / (period * dt), steps, dt, amplitude)],
                         record={"quantities": ["intensity", "heat_all"], "from_step": steps - 4 * period - 5})
        with run_file(shop, scene, backend, double) as out:
            wanted = amplitude**2 / (2 * RHO * C)
            for other, key in enumerate(("Ix", "Iy", "Iz")):
                assert out[key][0] == pytest.approx(wanted if other == axis else 0, abs=1e-3 * wanted)
            heat = np.moveaxis(out["heat_all"][:], axis, 0)[90:120]
            assert np.abs(heat).max() < 5e-3 * wanted * 2 * np.pi * frequency / C
            assert out["Ix"].attrs["units"] == "W/m^2" and out["heat_all"].attrs["units"] == "W/m^3"


@pytest.mark.parametrize("backend, double", BACKENDS)
def test_impedance_of_a_plane_wave(shop, backend, double):
    """p = rho c u in amplitude and phase, u at the grid point and p's clock: 0.1 %."""
    dt = 0.3 * H / C
    period, steps = 66, 1320
    scene = periodic([4, 4, 160], pml={"size": [0, 0, 20]}, time={"dt": dt, "steps": steps},
                     sensors=[{"name": "s", "points_index": [[1, 2, 110]]}],
                     sources=[smooth_source(shop, [4, 4, 160], 2, 1 / (period * dt), steps, dt, 2e4)],
                     record={"quantities": ["p_fourier", "u_fourier"], "frequencies": [1 / (period * dt)], "from_step": steps - 4 * period})
    with run_file(shop, scene, backend, double) as out:
        assert out["p_amplitude"][0, 0] / (RHO * C * out["uz_amplitude"][0, 0]) == pytest.approx(1, abs=1e-3)
        assert abs(out["p_phase"][0, 0] - out["uz_phase"][0, 0]) < 1e-3


def test_linear_interpolation_of_a_linear_field(shop):
    """Exactly the trilinear value, also on a grid of three different sides."""
    x, y, z = np.meshgrid(*[(np.arange(n) - n // 2) * H for n in (20, 30, 40)], indexing="ij")
    p0, = shop.maps(p0=1 + 3e3 * x - 2e3 * y + 5e3 * z + 1e7 * x * y - 4e10 * x * y * z)
    points = np.random.default_rng(3).uniform(-8 * H, 8 * H, (20, 3))
    scene = periodic([20, 30, 40], H, p0=p0, time={"cfl": 0.3, "steps": 1}, record={"quantities": ["p"]},
                     sensors=[{"name": "s", "points": points.tolist(), "interpolation": "linear"}])
    x, y, z = points.T
    assert relative_error(shop.run(scene).p[:, 0], 1 + 3e3 * x - 2e3 * y + 5e3 * z + 1e7 * x * y - 4e10 * x * y * z) < 1e-12


def test_heat_is_what_the_medium_absorbs(shop):
    """A plane wave loses 2 alpha I per length (alpha in Np/m at its frequency). Power 2: other powers' operators reach
    from the source far into the field."""
    alpha, dt = 3.0, 0.2 * H / C
    period = int(round(1e-6 / dt))
    steps = 26 * period
    frequency = 1 / (period * dt)
    scene = periodic([320, 1, 1], pml={"size": [20, 0, 0]}, time={"dt": dt, "steps": steps},
                     medium={"sound_speed": C, "density": RHO, "absorption": {"coefficient": alpha, "power": 2.0}},
                     sensors=[{"name": "s", "box_index": {"min": [120, 0, 0], "max": [200, 0, 0]}, "quantities": ["intensity", "heat"],
                               "from_step": steps - 3 * period - 5}],
                     sources=[smooth_source(shop, [320, 1, 1], 0, frequency, steps, dt, 1e4)])
    with run_file(shop, scene) as out:
        nepers = alpha * (frequency * 1e-6)**2 * 100 / (20 * np.log10(np.e))
        intensity, heat = out["sets/s/Ix"][:], out["sets/s/heat"][:, 0, 0]
        assert heat.shape == (81,)
        assert np.abs(heat / (2 * nepers * intensity) - 1).max() < 0.02


def test_everywhere_negative_pressure_has_a_negative_maximum(shop):
    scene = blob(p0=-5.0, pml={"size": 0}, time={"cfl": 0.3, "steps": 5}, record={"quantities": ["p_max", "p_max_all"]})
    scene["medium"].pop("regions")
    with run_file(shop, scene) as out:
        assert np.allclose(out["p_max"][:], -5) and np.allclose(out["p_max_all"][:], -5)


@pytest.mark.parametrize("start, samples", [(0, 60), (1, 59), (59, 1)])
def test_window_counts(shop, start, samples):
    scene = blob(record={"quantities": ["p", "p_max"], "from_step": start})
    with run_file(shop, scene) as out:
        assert out["p"].shape == (4, samples)
        assert np.array_equal(out["p_max"][:], out["p"][:].max(1)) and out["p_max"].attrs["samples"] == samples


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_interrupted_run_keeps_its_results(shop, backend):
    """What the accumulators came to until the run went unstable is in the file."""
    need(backend)
    scene = blob(time={"cfl": 3.0, "steps": 4000, "allow_unstable": True}, record={"quantities": ["p", "p_max"]},
                 medium={"sound_speed": 1500.0, "density": 1000.0, "reference_speed": 700.0})
    done = shop.try_run(scene, "-o", "out.h5", backend=backend)
    assert done.code == 5
    with h5py.File(shop.folder / "out.h5.part") as out:
        assert out.attrs["status"] == "unstable" and out["p_max"].attrs["samples"] == out["p"].shape[1]


def test_compression(shop):
    scene = blob(record={"quantities": ["p", "p_final", "p_max_all"]}, snapshots=[{"name": "all", "every": 20}])
    with run_file(shop, scene) as out:
        plain = {name: out[name][:] for name in ("p", "p_final", "p_max_all", "snapshots/all/p")}
        assert out["p"].compression is None and out["p_final"].chunks is None
    scene["output"] = {"compression": 4}
    with run_file(shop, scene) as out:
        for name, wanted in plain.items():
            assert out[name].compression_opts == 4 and np.array_equal(out[name][:], wanted)


# ---- between grid points ----

@pytest.mark.parametrize("backend, double", BACKENDS)
def test_interpolation(shop, backend, double):
    """A field of 5 and more points per wavelength: linear is fair, band-limited within 2e-4; on a grid point both are
    the point's own."""
    shift = np.array([0.37, -0.21, 0.45])
    center = (shift + [2, -1, 1]) * H
    places = [[3.3, -2.7, 1.2], [-4.6, 0.5, 3.9], [0.25, 0.25, -0.75], [4.0, -3.0, 2.0]]
    points = [[x * H for x in place] for place in places]
    scene = periodic([32, 30, 28], H, pml={"size": 0}, time={"cfl": 0.3, "steps": 1},
                     p0={"shapes": [{"shape": "gaussian", "center": center.tolist(), "sigma": 2.5 * H, "value": 1.0}]},
                     record={"quantities": ["p"]},
                     sensors=[{"name": kind, "points": points, "interpolation": kind} for kind in ("nearest", "linear", "bandlimited")]
                     + [{"name": "element", "points": points, "interpolation": "bandlimited", "average": True}])
    with run_file(shop, scene, backend, double) as out:
        p, position = out["p"][:, 0], out["sensors/position"][:]
        wanted = np.exp(-0.5 * ((position - center)**2).sum(1) / (2.5 * H)**2)[:4]
        assert np.abs(p[4:8] - wanted).max() < 0.03 and np.abs(p[8:12] - wanted).max() < 2e-4
        assert np.abs(p[:3] - wanted[:3]).max() > 0.01  # it is not the nearest point
        assert p[3] == p[7] == p[11] and p[12] == pytest.approx(p[8:12].mean(), rel=1e-5)
        assert np.allclose(out["sensors/position_used"][8:12], position[8:12])


@pytest.mark.parametrize("backend, double", BACKENDS)
def test_interpolated_velocity(shop, backend, double):
    """The moved velocity between grid points, against its value on a periodic field known everywhere."""
    place = [[1.3, -2.4, 0.8]]
    scene = blob(medium={"sound_speed": 1500.0, "density": 1000.0},
                 sensors=[{"name": "a", "points": [[x * H for x in place[0]]], "interpolation": "bandlimited"},
                          {"name": "b", "points": [[x * H for x in place[0]]], "interpolation": "linear"}],
                 record={"quantities": ["u", "u_non_staggered", "u_final"], "from_step": 30},
                 time={"cfl": 0.3, "steps": 31})
    with run_file(shop, scene, backend, double) as out:
        for axis, key in enumerate(("ux", "uy", "uz")):
            u = out[key + "_final"][:].astype(float)
            for moved, name in ((0.5, key + "_non_staggered"), (0.0, key)):
                value = np.fft.fftn(u)
                for i, n in enumerate(u.shape):
                    k = np.fft.fftfreq(n) * 2 * np.pi
                    at = place[0][i] + n // 2 - (moved if i == axis else 0)
                    wave = np.exp(1j * k * at)
                    if n % 2 == 0:
                        wave[n // 2] = 0
                    value = np.tensordot(wave, value, (0, 0)) / n
                scale = np.abs(u).max()
                assert abs(out[name][0, 0] - value.real) < 3e-3 * scale
                assert abs(out[name][1, 0] - value.real) < 0.1 * scale


# ---- what is wrong ----

@pytest.mark.parametrize("change, words", [
    ({"record": {"quantities": ["p_fourier"]}}, ["record.frequencies", "missing"]),
    ({"record": {"quantities": ["p"], "frequencies": [0.0]}}, ["record.frequencies", "> 0"]),
    ({"record": {"quantities": ["p_fourier"], "frequencies": [1e9]}}, ["half the sampling rate"]),
    ({"record": {"quantities": ["intensity"], "every": 2}}, ["record.every", "must be 1"]),
    ({"record": {"quantities": ["intensity"], "from_step": 57}}, ["at least 6"]),
    ({"record": {"quantities": ["p"], "from_step": 20, "to_step": 10}}, ["record.to_step", "20", "10"]),
    ({"record": {"quantities": ["p"], "from_step": 60}}, ["from_step", "60"]),
    ({"record": {"quantities": ["p"], "every": 0}}, ["record.every", "from 1"]),
    ({"record": {"quantities": ["q"]}}, ["record.quantities", "p_max"]),
    ({"record": {"quantities": []}}, ["record.quantities", "nothing"]),
    ({"snapshots": [{"name": "a"}]}, ["snapshots[0].every", "missing"]),
    ({"snapshots": [{"name": "a/b", "every": 1}]}, ["snapshots[0].name"]),
    ({"snapshots": [{"name": "a", "every": 1}, {"name": "a", "every": 2}]}, ["snapshots[1].name", "twice"]),
    ({"snapshots": [{"name": "a", "every": 1, "points_index": [[1, 1, 1]]}]}, ["snapshots[0].points_index"]),
    ({"sensors": [{"name": "s", "points_index": [[1, 1, 1]], "interpolation": "cubic"}]}, ["interpolation", "bandlimited"]),
    ({"sensors": [{"name": "s", "points_index": [[1, 1, 1]], "quantities": ["heat"]}]}, ["quantities", "boxes"]),
    ({"sensors": [{"name": "s", "points_index": [[1, 1, 1]], "quantities": []}]}, ["quantities", "at least one"]),
    ({"output": {"compression": 10}}, ["output.compression", "9"])])
def test_wrong_recordings(shop, change, words):
    done = shop.try_run(blob(record={"quantities": ["p"]}, **change) if "record" not in change else blob(**change))
    assert done.code == 3 and all(word in done.err for word in words), done.err
    assert not (shop.folder / "scene.h5").exists()


# ---- XDMF ----

def read_item(item, folder):
    """The array that an XDMF DataItem stands for, as the format's documents say."""
    if item.get("ItemType") == "HyperSlab":
        start, stride, count = np.array(item[0].text.split(), int).reshape(3, -1)
        whole = read_item(item[1], folder)
        part = whole[tuple(slice(a, a + s * n, s) for a, s, n in zip(start, stride, count))]
        return part.reshape([int(n) for n in item.get("Dimensions").split()])
    name, path = item.text.strip().split(":")
    with h5py.File(folder / name) as file:
        data = file[path][:]
    assert list(data.shape) == [int(n) for n in item.get("Dimensions").split()]
    assert data.dtype.itemsize == int(item.get("Precision"))
    return data


@pytest.mark.parametrize("size", [[14, 12, 16], [14, 1, 16], [1, 12, 16], [70, 12, 130]])
def test_xdmf_puts_x_y_z_where_they_belong(shop, size):
    """A marker that is not symmetric in any axis, in the fields and in the snapshots of a box off the middle."""
    import xml.etree.ElementTree as xml
    marker = [3 * H if n > 1 else 0.0 for n in size[:1]] + [-2 * H if size[1] > 1 else 0.0, 5 * H]
    scene = periodic(size, H, pml={"size": 0}, time={"cfl": 0.3, "steps": 3}, sensors=[],
                     p0={"shapes": [{"shape": "ball", "center": marker, "radius": 0.4 * H, "value": 7.0}]},
                     record={"quantities": ["p_final", "p_max_all", "p_fourier_all"], "frequencies": [1e6, 2e6]},
                     snapshots=[{"name": "a & b", "every": 1, "box_index": {"min": [0 if n == 1 else 2 for n in size], "max": [n - 1 for n in size]}}])
    shop.run(scene)
    root = xml.parse(shop.folder / "out.xdmf").getroot()
    grids = [g for g in root.iter("Grid") if g.get("GridType") == "Uniform"]
    assert len(grids) == 1 + 3 and [float(t.get("Value")) for t in root.iter("Time")][0] == 0
    seen = set()
    for grid in grids:
        points = read_item(grid.find("Geometry")[0], shop.folder)
        assert grid.find("Topology").get("TopologyType") == "3DSMesh" and points.shape[-1] == 3
        assert grid.find("Topology").get("Dimensions").split() == [str(n) for n in points.shape[:3]]
        for attribute in grid.findall("Attribute"):
            values = read_item(attribute[0], shop.folder)
            assert values.shape == points.shape[:3]
            seen.add(attribute.get("Name"))
            if attribute.get("Name") == "p_max_all" or (attribute.get("Name") == "p" and grid.get("Name") == "0"):
                where = np.unravel_index(np.abs(values).argmax(), values.shape)
                assert values[where] == 7 and np.allclose(points[where], marker, atol=1e-9)
    assert seen == {"p_final", "p_max_all", "p_amplitude_all_0", "p_amplitude_all_1", "p_phase_all_0", "p_phase_all_1", "p"}


def test_xdmf_only_beside_fields(shop):
    shop.run(blob(record={"quantities": ["p"]}))
    assert not (shop.folder / "out.xdmf").exists()
    shop.run(blob(output={"xdmf": False}))
    assert not (shop.folder / "out.xdmf").exists()
    (shop.folder / "out.xdmf").write_text("mine")
    done = shop.try_run(blob(), "-o", "out.h5", "--force")
    assert done.code == 0 and (shop.folder / "out.xdmf").read_text() != "mine"
    (shop.folder / "new.xdmf").write_text("mine")
    done = shop.try_run(blob(), "-o", "new.h5")
    assert done.code == 1 and "new.xdmf" in done.err and (shop.folder / "new.xdmf").read_text() == "mine"
    assert not (shop.folder / "new.h5").exists() and not (shop.folder / "new.h5.part").exists()


def test_position_at_the_far_edge_belongs_to_the_last_point(shop):
    """Half a cell beyond the last point: the last point, with the PML outside too, and averaged."""
    p0, = shop.maps(p0=np.arange(16.0))
    p0 = shop.maps(p0=np.arange(16.0).reshape(16, 1, 1))[0]
    for outside in (False, True):
        scene = periodic([16, 1, 1], H, p0=p0, pml={"size": 5, "outside": outside}, time={"steps": 1}, record={"quantities": ["p"]},
                         sensors=[{"name": "a", "points_index": [[15.5, 0, 0]]}, {"name": "b", "points_index": [[15.5, 0, 0]], "average": True}])
        with run_file(shop, scene) as out:
            assert out["p"][:].tolist() == [[15], [15]] and out["sensors/index"][0, 0] == 15


@slow
def test_results_that_cannot_be_written_keep_the_traces(shop):
    """Memory runs out while results are made: the traces stay in the .part file, which says so."""
    import resource
    import subprocess
    from conftest import BINARY, ENVIRONMENT
    scene = periodic([96, 96, 96], H, pml={"size": 8}, p0={"shapes": [{"shape": "ball", "radius": 5 * H, "value": 1.0}]}, time={"steps": 12},
                     sensors=[{"name": "s", "points_index": [[60, 60, 60]]}], record={"quantities": ["p", "heat_all"]})
    shop.write(scene)
    for limit in range(340, 160, -15):
        size = limit << 20
        done = subprocess.run([BINARY, "scene.cfg", "-o", "out.h5", "--force", "--backend", "cpu", "--threads", "1", "-q"], cwd=shop.folder, env=ENVIRONMENT,
                              capture_output=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)))
        if done.returncode != 0:
            break
    if b"Sanitizer" in done.stderr:
        pytest.skip("sanitizers need more address space than any limit")
    assert done.returncode == 4, done.stderr
    if b"no memory for the" not in done.stderr or b"What was recorded" not in done.stderr:
        pytest.skip("memory ran out before the results, or the allocator gave it")
    with h5py.File(shop.folder / "out.h5.part") as out:
        assert out.attrs["status"] == "incomplete" and out["p"].shape == (1, 12)


def test_output_named_as_the_xdmf_file(shop):
    """The output would be replaced by the XML beside it: refused before anything runs."""
    for force in ([], ["--force"]):
        done = shop.try_run(blob(), "-o", "a.xdmf", *force)
        assert done.code == 1 and "a.xdmf" in done.err and not (shop.folder / "a.xdmf").exists()
