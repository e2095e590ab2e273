"""PML outside, smoothing, labels and materials, the stability of density maps."""
import h5py
import numpy as np
import pytest

from conftest import need, periodic, relative_error

H, C, RHO = 1e-4, 1500.0, 1000.0
BACKENDS = [("cpu", True), ("cuda", False)]


def layered(size, **more):
    scene = periodic(size, H, time={"cfl": 0.3, "steps": 70}, p0={"shapes": [{"shape": "ball", "center": [2 * H, H, -H], "radius": 3 * H, "value": 1.0}]},
                     record={"quantities": ["p", "p_final", "p_max_all"]},
                     sensors=[{"name": "s", "points": [[4 * H, -3 * H, 2 * H], [-5 * H, 4 * H, 3 * H]]}])
    scene["medium"]["regions"] = [{"shape": "halfspace", "point": [0.0, 3.2 * H, 0.0], "normal": [0, 1, 0], "sound_speed": 1800.0, "density": 1300.0}]
    scene.update(more)
    return scene


# ---- PML outside ----

@pytest.mark.parametrize("backend, double", BACKENDS)
def test_pml_outside_is_a_larger_grid(shop, backend, double):
    """The same run with the PML inside a grid that is larger by it; results are of the user's grid."""
    need(backend)
    user, pml = [20, 18, 22], [6, 7, 5]
    total = [n + 2 * l for n, l in zip(user, pml)]
    keep = {"double": double, "backend": backend}
    shop.run(layered(user, pml={"size": pml, "outside": True},
                     snapshots=[{"name": "plane", "plane_index": {"axis": "z", "position": 7}, "every": 69}],
                     sensors=[{"name": "s", "points": [[4 * H, -3 * H, 2 * H]]}, {"name": "i", "points_index": [[3, 4, 5]]},
                              {"name": "b", "box_index": {"min": [0, 0, 0], "max": [1, 2, 1]}}]), output="outside.h5", **keep)
    shop.run(layered(total, pml={"size": pml}, sensors=[
        {"name": "s", "points": [[4 * H, -3 * H, 2 * H]]}, {"name": "i", "points_index": [[9, 11, 10]]},
        {"name": "b", "box_index": {"min": pml, "max": [7, 9, 6]}}]), output="inside.h5", **keep)
    inner = tuple(slice(l, -l) for l in pml)
    with h5py.File(shop.folder / "outside.h5") as a, h5py.File(shop.folder / "inside.h5") as b:
        assert np.array_equal(a["p"][:], b["p"][:])
        for name in ("p_final", "p_max_all"):
            assert a[name].shape == tuple(user) and np.array_equal(a[name][:], b[name][:][inner])
        assert np.array_equal(a["snapshots/plane/p"][1, :, :, 0], a["p_final"][:, :, 7])
        assert a["sensors/index"][1].tolist() == [3, 4, 5] and np.allclose(a["sensors/position"][:], b["sensors/position"][:])
        assert a["grid"].attrs["size"].tolist() == user and a["grid"].attrs["total_size"].tolist() == total
        assert a["grid"].attrs["origin_index"].tolist() == [10, 9, 11]


def test_maps_continue_by_their_edges_and_p0_by_zero(shop):
    """Maps from files have the user's shape; p0 that reaches the edge ends there."""
    user, pml = [14, 12, 10], [5, 4, 6]
    total = [n + 2 * l for n, l in zip(user, pml)]
    random = np.random.default_rng(3)
    c0, rho0, p0 = 1500 + 200 * random.random(user), 1000 + 100 * random.random(user), random.standard_normal(user)
    width = [(l, l) for l in pml]
    maps = shop.maps(c0=c0, rho0=rho0, p0=p0, c0_all=np.pad(c0, width, "edge"), rho0_all=np.pad(rho0, width, "edge"), p0_all=np.pad(p0, width))
    common = {"time": {"cfl": 0.2, "steps": 30}, "record": {"quantities": ["p_final"]}}
    a = shop.run(periodic(user, pml={"size": pml, "outside": True}, medium={"sound_speed": maps[0], "density": maps[1]}, p0=maps[2], **common))
    b = shop.run(periodic(total, pml={"size": pml}, medium={"sound_speed": maps[3], "density": maps[4]}, p0=maps[5], **common))
    assert np.array_equal(a.p_final, b.p_final[tuple(slice(l, -l) for l in pml)])


@pytest.mark.parametrize("n, wanted", [(100, 10), (108, 10), (236, 10), (55, 10), (235, 40)])
def test_automatic_pml(shop, n, wanted):
    """The thinnest of 10 and more points whose total has only small prime factors."""
    scene = periodic([n, 1, 1], pml={"size": "auto", "outside": True}, p0=1.0, time={"steps": 1})
    done = shop.try_run(scene, "--dry-run")
    assert done.code == 0, done.err
    sizes = [l for l in range(10, 41) if max(f for f in range(1, n + 2 * l + 1) if (n + 2 * l) % f == 0 and all(f % k for k in range(2, int(f**.5) + 1))) <= 7]
    assert sizes[0] == wanted and "pml        %d x" % wanted in done.out


# ---- smoothing ----

def smoothed(f):
    """The field's filter, from its definition."""
    n = np.array(f.shape)
    half = n // 2
    nodes = max(half)
    rho = np.zeros(f.shape)
    for axis, size in enumerate(f.shape):
        m = np.abs(np.fft.fftfreq(size) * size) / max(half[axis], 1)
        rho = rho + (m**2).reshape([-1 if i == axis else 1 for i in range(f.ndim)])
    x = np.arange(nodes + 1) / nodes
    window = np.interp(np.minimum(1, np.sqrt(rho)), x, 0.42 + 0.5 * np.cos(np.pi * x) + 0.08 * np.cos(2 * np.pi * x))
    return np.fft.ifftn(np.fft.fftn(f) * window).real


@pytest.mark.parametrize("size", [[20, 18, 15], [21, 16, 1]])
def test_smoothing_of_p0(shop, size):
    p0 = (np.random.default_rng(5).random(size) > 0.9) * 2.0
    file, = shop.maps(p0=p0)
    scene = periodic(size, time={"cfl": 0.3, "steps": 1}, p0={**file, "smooth": True})
    got = shop.run(scene).p_final
    assert relative_error(got, smoothed(p0)) < 1e-12 and np.abs(got).max() < 2
    scene["p0"]["restore_maximum"] = True
    got = shop.run(scene).p_final
    assert relative_error(got, smoothed(p0) * 2 / np.abs(smoothed(p0)).max()) < 1e-12


def test_smoothing_is_linear_without_restoring(shop):
    """Two neighbouring voxels: p(A + B) = p(A) + p(B), with smoothing and without, but not with the maximum restored."""
    def run(voxels, **more):
        p0 = np.zeros([24, 24, 24])
        for v in voxels:
            p0[v] = 1
        file, = shop.maps(p0=p0)
        return shop.run(periodic([24, 24, 24], p0={**file, **more}, time={"cfl": 0.3, "steps": 12})).p_final
    a, b = [(12, 12, 12)], [(12, 12, 13)]
    for more in ({}, {"smooth": True}):
        assert relative_error(run(a + b, **more), run(a, **more) + run(b, **more)) < 1e-12
    more = {"smooth": True, "restore_maximum": True}
    assert relative_error(run(a + b, **more), run(a, **more) + run(b, **more)) > 0.1


def test_smoothing_of_maps(shop):
    size = [20, 18, 16]
    random = np.random.default_rng(7)
    c0, rho0 = np.where(random.random(size) > 0.5, 1500.0, 1700.0), np.where(random.random(size) > 0.5, 1000.0, 1200.0)
    maps = shop.maps(c0=c0, rho0=rho0, smooth_c0=smoothed(c0))
    p0 = {"shapes": [{"shape": "gaussian", "sigma": 2 * H, "value": 1.0}]}
    a = shop.run(periodic(size, p0=p0, medium={"sound_speed": maps[0], "density": maps[1], "smooth": ["sound_speed"]})).p_final
    b = shop.run(periodic(size, p0=p0, medium={"sound_speed": maps[2], "density": maps[1]})).p_final
    assert relative_error(a, b) < 1e-10


# ---- labels ----

def test_labels_and_materials(shop):
    """A map of labels and a table are the maps written out."""
    size = [18, 16, 14]
    labels = np.random.default_rng(9).integers(0, 3, size) * 5 - 5
    table = {-5: (1500.0, 1000.0, 0.1, 5.0), 0: (1600.0, 1100.0, 0.5, 7.0), 5: (1450.0, 950.0, 0.3, 9.0)}
    written = [np.vectorize(lambda label: table[label][q])(labels) for q in range(4)]
    file, *maps = shop.maps(labels=labels, c0=written[0], rho0=written[1], alpha=written[2], bona=written[3])
    p0 = {"shapes": [{"shape": "gaussian", "sigma": 2 * H, "value": 1e5}]}
    names = ("sound_speed", "density", "absorption_coefficient", "nonlinearity")
    a = shop.run(periodic(size, p0=p0, medium={"labels": file, "absorption": {"power": 1.5}, "materials": [
        {"label": label, **dict(zip(names, values))} for label, values in table.items()]})).p_final
    b = shop.run(periodic(size, p0=p0, medium={"sound_speed": maps[0], "density": maps[1], "nonlinearity": maps[3],
                                               "absorption": {"power": 1.5, "coefficient": maps[2]}})).p_final
    assert np.array_equal(a, b)


MATERIALS = [{"label": 0, "sound_speed": 1500.0, "density": 1000.0}, {"label": 1, "sound_speed": 1600.0, "density": 1100.0}]


@pytest.mark.parametrize("change, words", [
    ({"pml": {"size": "auto"}}, ["pml.size", "outside"]),
    ({"pml": {"size": "large", "outside": True}}, ["pml.size", "auto", "large"]),
    ({"p0": {"shapes": [{"shape": "ball", "radius": 3e-4, "value": 1.0}], "restore_maximum": True}}, ["p0.restore_maximum", "smooth"]),
    ({"medium": {"sound_speed": C, "density": RHO, "smooth": ["speed"]}}, ["medium.smooth", "sound_speed"]),
    ({"medium": {"sound_speed": C, "density": RHO, "smooth": ["nonlinearity"]}}, ["medium.smooth", "nonlinearity"]),
    ({"medium": {"sound_speed": C, "density": RHO, "restore_maximum": True}}, ["medium.restore_maximum"]),
    ({"medium": {"sound_speed": C, "density": RHO, "materials": MATERIALS}}, ["medium.materials", "labels"]),
    ({"medium": {"labels": "LABELS", "materials": MATERIALS, "density": RHO}}, ["medium.density", "contradicts"]),
    ({"medium": {"labels": "LABELS"}}, ["medium.materials", "missing"]),
    ({"medium": {"labels": "LABELS", "materials": []}}, ["medium.materials", "at least one"]),
    ({"medium": {"labels": "LABELS", "materials": MATERIALS[:1]}}, ["medium.labels", "label 1", "grid point (2, 3, 1)"]),
    ({"medium": {"labels": "LABELS", "materials": MATERIALS + MATERIALS[:1]}}, ["medium.materials", "twice"]),
    ({"medium": {"labels": "LABELS", "materials": [{**MATERIALS[0], "nonlinearity": 5.0}, MATERIALS[1]]}}, ["materials[1].nonlinearity", "missing"]),
    ({"medium": {"labels": "LABELS", "materials": [MATERIALS[0], {**MATERIALS[1], "absorption_coefficient": 0.5}]}}, ["absorption_coefficient", "medium.absorption"]),
    ({"medium": {"labels": "LABELS", "materials": [MATERIALS[0], {"label": 1, "sound_speed": 1500.0}]}}, ["materials[1].density", "missing"])])
def test_wrong_domains(shop, change, words):
    labels = np.zeros([16, 16, 16], int)
    labels[2, 3, 1] = 1
    file, = shop.maps(labels=labels)
    scene = periodic([16, 16, 16], pml={"size": 3}, p0=1.0)
    scene.update(change)
    if scene["medium"].get("labels") == "LABELS":
        scene["medium"] = {**scene["medium"], "labels": file}
    done = shop.try_run(scene)
    assert done.code == 3 and all(word in done.err for word in words), done.err


# ---- stability of density maps ----

def steep(shop, ratio, cfl, **more):
    size = [24, 20, 18]
    rho0, p0 = shop.maps(rho0=np.where(np.random.default_rng(2).random(size) > 0.5, RHO, RHO * ratio),
                         p0=np.random.default_rng(4).standard_normal(size))
    return periodic(size, medium={"sound_speed": C, "density": rho0}, p0=p0, time={"cfl": cfl, "steps": 3000, **more})


@pytest.mark.parametrize("ratio, cfl, stable", [(1.7, 0.4, True), (1.7, 0.9, False), (20.0, 0.3, False), (20.0, 0.1, True)])
@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_density_maps_are_judged_before_the_run(shop, backend, ratio, cfl, stable):
    """Refused where the largest eigenvalue passes 4; and the judgement is right."""
    need(backend)
    done = shop.try_run(steep(shop, ratio, cfl, estimate_stability=True), "-v", backend=backend)
    assert done.code == (0 if stable else 3) and "largest eigenvalue" in done.err, done.err
    if not stable:
        assert "cfl" in done.err and "allow_unstable" in done.err
        done = shop.try_run(steep(shop, ratio, cfl, allow_unstable=True, estimate_stability=True), "--force", backend=backend)
        assert done.code == 5 and "warning" in done.err


def test_density_maps_are_not_judged_without_need(shop):
    done = shop.try_run(steep(shop, 1.7, 0.3), "-v")
    assert done.code == 0 and "eigenvalue" not in done.err
