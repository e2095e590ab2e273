"""The field's exchange files: seven runs of k-Wave's public solver, with its command line, inputs in two versions and outputs
(tests/reference/kwave); corrupted files; and the other way, scenes as k-Wave inputs."""
import os
import shutil
import subprocess

import h5py
import numpy as np
import pytest

from conftest import BINARY, ENVIRONMENT, need, periodic, relative_error, run_program, slow
from test_golden import REFERENCE

FILES = os.path.join(REFERENCE, "kwave")
H, C, RHO = 1e-4, 1500.0, 1000.0
FLAGS = {"record_cuboids": "-p --p_max --p_rms --p_final -s 1",
         "record_everything": "-p --p_max --p_min --p_rms --p_max_all --p_min_all --p_final -u --u_non_staggered_raw --u_max --u_min "
                              "--u_rms --u_max_all --u_min_all --u_final -s 21"}
CASES = ["nonlinear_absorbing", "p0_speed_density", "p_source_many_speed", "record_cuboids", "record_everything", "two_dimensional",
         "u_source_additive"]


def flags(case):
    return FLAGS.get(case, "-p --p_final -s 1").split()


def datasets(file):
    found = {}
    file.visititems(lambda name, item: found.update({name: item}) if isinstance(item, h5py.Dataset) else None)
    return found


def solve(folder, source, *arguments, output="out.h5", backend="cpu", double=False):
    return run_program(["--kwave", "-i", source, "-o", output, "--backend", backend, "--precision", "double" if double else "single", *arguments],
                       folder)


def attribute(item, name):
    """A fixed-length string, as the field's readers want it."""
    at = item.attrs.get_id(name)
    assert at.get_type().get_class() == h5py.h5t.STRING and not at.get_type().is_variable_str()
    return item.attrs[name].decode() if isinstance(item.attrs[name], bytes) else item.attrs[name]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("version", [pytest.param("1.1", marks=slow), "1.2"])
@pytest.mark.parametrize("backend, double", [("cpu", True), ("cpu", False), ("cuda", False)])
def test_same_output(tmp_path, case, version, backend, double):
    """Every dataset of the original's output: name, shape, type, attributes, values."""
    need(backend)
    done = solve(tmp_path, os.path.join(FILES, "%s_input_%s.h5" % (case, version)), *flags(case), backend=backend, double=double)
    assert done.code == 0, done.err
    with h5py.File(tmp_path / "out.h5") as out, h5py.File(os.path.join(FILES, case + "_output.h5")) as wanted:
        got = datasets(out)
        assert set(got) == set(datasets(wanted)) | {"axisymmetric_flag"} | {n for n in got if n.endswith(("source_mode", "source_many"))}
        for name, item in datasets(wanted).items():
            assert got[name].shape == item.shape and got[name].dtype == item.dtype, name
            for key in ("data_type", "domain_type"):
                assert attribute(got[name], key) == item.attrs[key].decode()
            if item.size == 1:
                assert got[name][()] == item[()], name
            else:
                bound = 3e-5 if "final" in name else 1e-5
                assert relative_error(got[name][()], item[()]) < bound, name
        for key, value in (("file_type", "output"), ("major_version", "1"), ("file_description", case)):
            assert attribute(out, key) == value
        assert attribute(out, "total_execution_time").endswith("s") and attribute(out, "created_by").startswith("kwsim")


def test_by_the_names_of_the_solvers(tmp_path):
    """Links of those names take the field's command line; -OMP is the CPU. Without an output flag p is recorded."""
    os.symlink(BINARY, tmp_path / "kspaceFirstOrder-OMP")
    source = os.path.join(FILES, "p0_speed_density_input_1.2.h5")
    done = subprocess.run([str(tmp_path / "kspaceFirstOrder-OMP"), "-i", source, "-o", "a.h5", "-t", "1", "-r", "10", "--verbose", "0"],
                          cwd=tmp_path, capture_output=True, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    with h5py.File(tmp_path / "a.h5") as out:
        assert "p" in out and "p_final" not in out and b"cpu" in out.attrs["created_by"]
    done = subprocess.run([str(tmp_path / "kspaceFirstOrder-OMP"), "--version"], cwd=tmp_path, capture_output=True, env=ENVIRONMENT)
    assert done.returncode == 0 and b"kwsim" in done.stdout


def test_plain_kwsim_takes_a_kwave_file(tmp_path):
    source = os.path.join(FILES, "p0_speed_density_input_1.1.h5")
    done = run_program([source, "-o", "out.h5", "--backend", "cpu"], tmp_path)
    assert done.code == 0, done.err
    with h5py.File(tmp_path / "out.h5") as out, h5py.File(os.path.join(FILES, "p0_speed_density_output.h5")) as wanted:
        assert relative_error(out["p"][:], wanted["p"][:]) < 1e-5
    assert run_program([source, "-o", "out.h5", "--backend", "cpu"], tmp_path).code == 1  # exists
    assert run_program([source, "--set", "time.cfl=0.1", "-o", "b.h5"], tmp_path).code == 2
    done = run_program([source, "--dry-run", "--backend", "cpu"], tmp_path)
    assert done.code == 0 and "36 points" in done.out


def test_flags(tmp_path):
    """Start, benchmark, mask, compression; an existing output is replaced."""
    source = os.path.join(FILES, "record_cuboids_input_1.2.h5")
    done = solve(tmp_path, source, "-p", "-s", "11", "--benchmark", "30", "--copy_sensor_mask", "-c", "3")
    assert done.code == 0, done.err
    with h5py.File(tmp_path / "out.h5") as out, h5py.File(source) as file, h5py.File(os.path.join(FILES, "record_cuboids_output.h5")) as wanted:
        assert out["Nt"][()] == 30 and out["t_index"][()] == 30
        assert out["p/1"].shape == (20, 6, 4, 5) and out["p/1"].compression_opts == 3
        assert relative_error(out["p/1"][:], wanted["p/1"][10:30]) < 1e-5
        assert np.array_equal(out["sensor_mask_corners"][:], file["sensor_mask_corners"][:]) and out["sensor_mask_type"][()] == 1
    done = solve(tmp_path, os.path.join(FILES, "two_dimensional_input_1.2.h5"), "--copy_sensor_mask")
    assert done.code == 0, done.err
    with h5py.File(tmp_path / "out.h5") as out, h5py.File(os.path.join(FILES, "two_dimensional_input_1.2.h5")) as file:
        assert np.array_equal(out["sensor_mask_index"][:].ravel(), file["sensor_mask_index"][:].ravel())


@pytest.mark.parametrize("arguments, words", [
    (["-o", "b.h5"], ["-i", "no input"]), (["-i", "SOURCE"], ["-o", "no output"]),
    (["-i", "SOURCE", "-o", "b.h5", "-s", "0"], ["-s", "from 1"]), (["-i", "SOURCE", "-o", "b.h5", "-c", "10"], ["-c", "0 to 9"]),
    (["-i", "SOURCE", "-o", "b.h5", "--checkpoint_file", "c.h5", "--checkpoint_interval", "10"], ["checkpoint"]),
    (["-i", "SOURCE", "-o", "b.h5", "--p_everything"], ["p_everything"]), (["-i", "SOURCE", "-o", "b.h5", "--I_avg"], ["--I_avg", "does not"]),
    (["-i", "SOURCE", "-o", "b.h5", "-r", "200"], ["-r"]), (["-i", "SOURCE", "-o", "b.h5", "stray"], ["stray"])])
def test_wrong_flags(tmp_path, arguments, words):
    source = os.path.join(FILES, "p0_speed_density_input_1.2.h5")
    done = run_program(["--kwave", *[source if a == "SOURCE" else a for a in arguments]], tmp_path)
    assert done.code == 2 and all(word in done.err for word in words), done.err
    assert os.listdir(tmp_path) == []


# ---- physics that the seven cases do not have ----

def edited(folder, case, **changes):
    """A copy of an input with datasets replaced; None takes one away."""
    path = folder / "edited.h5"
    shutil.copy(os.path.join(FILES, case + "_input_1.2.h5"), path)
    with h5py.File(path, "r+") as file:
        for name, value in changes.items():
            if name in file:
                del file[name]
            if value is None:
                continue
            value = np.asarray(value)
            integer = value.dtype.kind in "iu"
            item = file.create_dataset(name, data=value.reshape(value.shape if value.ndim == 3 else (1, 1, value.size)).astype(
                np.uint64 if integer else np.float32))
            item.attrs["data_type"] = np.bytes_("long" if integer else "float")
            item.attrs["domain_type"] = np.bytes_("real")
    return str(path)


def recorded(folder, source, *arguments):
    done = solve(folder, source, "-p", *arguments, double=True)
    assert done.code == 0, done.err
    with h5py.File(folder / "out.h5") as out:
        return out["p"][0].T


def test_transducer_is_its_delayed_signals(tmp_path):
    """ux of point i gets input[n + delay_mask[i] - 1]: the same as many signals written out, without correction."""
    rng = np.random.default_rng(1)
    with h5py.File(os.path.join(FILES, "u_source_additive_input_1.2.h5")) as file:
        index = file["u_source_index"][:].ravel()[:20]
        steps = int(file["Nt"][0, 0, 0])
    signal, delay, driven = 1e-9 * rng.standard_normal(60), rng.integers(1, 11, len(index)), 50
    none = {name: 0 for name in ("ux_source_flag", "uy_source_flag", "uz_source_flag", "p_source_flag", "p0_source_flag")}
    clean = {"u_source_mode": None, "u_source_many": None, "ux_source_input": None, "uy_source_input": None, "uz_source_input": None}
    a = recorded(tmp_path, edited(tmp_path, "u_source_additive", **none, **clean, u_source_index=index, transducer_source_flag=driven,
                                  transducer_source_input=signal, delay_mask=delay))
    rows = np.array([signal[d - 1:d - 1 + driven] for d in delay])
    many = {**none, "ux_source_flag": driven}
    b = recorded(tmp_path, edited(tmp_path, "u_source_additive", **many, u_source_index=index, u_source_mode=1, u_source_many=1,
                                  ux_source_input=rows.T[None], uy_source_input=None, uz_source_input=None))
    assert a.shape[1] == steps and relative_error(a, b) < 1e-6 and np.abs(a).max() > 0


def test_staggered_densities_are_taken_as_given(tmp_path):
    """The file's, not the means of neighbours: a periodic roll, as one front end writes, differs in the last plane; others
    anywhere."""
    with h5py.File(os.path.join(FILES, "p0_speed_density_input_1.2.h5")) as file:
        rho0, given = file["rho0"][:], file["rho0_sgx"][:]
    base = recorded(tmp_path, edited(tmp_path, "p0_speed_density"))
    same = recorded(tmp_path, edited(tmp_path, "p0_speed_density", rho0_sgx=given * np.float32(1 + 2e-7)))
    assert relative_error(same, base) < 1e-6
    other = recorded(tmp_path, edited(tmp_path, "p0_speed_density", rho0_sgx=given * np.float32(1.2)))
    assert relative_error(other, base) > 1e-3
    doubled = recorded(tmp_path, edited(tmp_path, "p0_speed_density", rho0_sgx=given * np.float32(1.00001), rho0=rho0 * np.float32(1.00001),
                                        rho0_sgy=None if False else h5py.File(os.path.join(FILES, "p0_speed_density_input_1.2.h5"))["rho0_sgy"][:] * np.float32(1.00001),
                                        rho0_sgz=h5py.File(os.path.join(FILES, "p0_speed_density_input_1.2.h5"))["rho0_sgz"][:] * np.float32(1.00001)))
    assert relative_error(doubled, base) < 1e-5


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_staggered_densities_on_every_backend(tmp_path, backend):
    need(backend)
    with h5py.File(os.path.join(FILES, "p0_speed_density_input_1.2.h5")) as file:
        given = file["rho0_sgx"][:] * np.random.default_rng(2).uniform(0.8, 1.2, file["rho0_sgx"].shape)
    source = edited(tmp_path, "p0_speed_density", rho0_sgx=given)
    wanted = recorded(tmp_path, source)
    assert solve(tmp_path, source, "-p", backend=backend).code == 0
    with h5py.File(tmp_path / "out.h5") as out:
        assert relative_error(out["p"][0].T, wanted) < 5e-6


# ---- files that are wrong ----

@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("version", ["1.1", "1.2"])
def test_truncated_files(tmp_path, case, version):
    """Refused with a sentence; nothing is left behind."""
    whole = open(os.path.join(FILES, "%s_input_%s.h5" % (case, version)), "rb").read()
    for part in (0.97, 0.5, 0.01):
        (tmp_path / "cut.h5").write_bytes(whole[:int(part * len(whole))])
        done = solve(tmp_path, "cut.h5", "-p")
        assert done.code != 0 and done.err.startswith("kwsim: error: ") and "cut.h5" in done.err
        assert os.listdir(tmp_path) == ["cut.h5"]


@pytest.mark.parametrize("case, changes, words", [
    ("p0_speed_density", {"sensor_mask_index": [1, 36 * 40 * 45 + 1]}, ["sensor_mask_index", "element 1", "64801"]),
    ("p0_speed_density", {"sensor_mask_index": [0]}, ["sensor_mask_index", "must be 1 to"]),
    ("p0_speed_density", {"sensor_mask_index": None}, ["sensor_mask_index", "missing"]),
    ("p0_speed_density", {"c0": np.ones((45, 40, 35))}, ["c0", "45 x 40 x 36", "45 x 40 x 35"]),
    ("p0_speed_density", {"c0": [0.0]}, ["c0", "> 0"]),
    ("p0_speed_density", {"c0": [1500]}, ["c0", "floating-point"]),
    ("p0_speed_density", {"dt": [0.0]}, ["dt", "got 0"]),
    ("p0_speed_density", {"dt": [np.nan]}, ["dt", "finite"]),
    ("p0_speed_density", {"Nx": [36.0]}, ["Nx", "integers"]),
    ("p0_speed_density", {"Nx": None}, ["Nx", "missing"]),
    ("p0_speed_density", {"Nx": [72]}, ["c0", "must be one number or"]),
    ("p0_speed_density", {"Nt": [0]}, ["Nt", "got 0"]),
    ("p0_speed_density", {"p0_source_flag": [0]}, ["source_flag", "no source"]),
    ("p0_speed_density", {"p0_source_input": None}, ["p0_source_input", "missing"]),
    ("p0_speed_density", {"pml_x_size": [18]}, ["pml", "do not fit"]),
    ("p0_speed_density", {"axisymmetric_flag": [1]}, ["axisymmetric_flag", "axisymmetric"]),
    ("p0_speed_density", {"nonuniform_grid_flag": [1]}, ["nonuniform_grid_flag"]),
    ("p0_speed_density", {"elastic_flag": [1]}, ["elastic_flag", "elastic"]),
    ("p0_speed_density", {"sxx_source_flag": [5]}, ["sxx_source_flag", "stress"]),
    ("p_source_many_speed", {"p_source_flag": [1]}, ["p_source_input", "15260 elements", "1 samples of 109"]),
    ("p_source_many_speed", {"p_source_mode": [3]}, ["p_source_mode", "0 to 2"]),
    ("p_source_many_speed", {"p_source_index": [1, 2, 10**15]}, ["p_source_index", "element 2"]),
    ("p_source_many_speed", {"p_source_index": [1, 2, 3]}, ["p_source_input", "3 signals"]),
    ("nonlinear_absorbing", {"alpha_power": [1.0]}, ["alpha_power", "must not be 1"]),
    ("nonlinear_absorbing", {"alpha_coeff": None}, ["alpha_coeff", "missing"]),
    ("nonlinear_absorbing", {"BonA": None}, ["BonA", "missing"]),
    ("record_cuboids", {"sensor_mask_corners": np.array([[[1, 1, 1, 37, 2, 2]]])}, ["sensor_mask_corners", "along x", "36"]),
    ("record_cuboids", {"sensor_mask_corners": np.array([[[5, 1, 1, 4, 2, 2]]])}, ["sensor_mask_corners", "first <= last"]),
    ("record_cuboids", {"sensor_mask_corners": [1, 2, 3, 4]}, ["sensor_mask_corners", "6 numbers"])])
def test_corrupted_files(tmp_path, case, changes, words):
    done = solve(tmp_path, edited(tmp_path, case, **{k: np.asarray(v) if v is not None else None for k, v in changes.items()}), "-p")
    assert done.code == 3 and all(word in done.err for word in words), done.err
    assert sorted(os.listdir(tmp_path)) == ["edited.h5"]


@pytest.mark.parametrize("name, value, words", [("file_type", "output", ["file_type", "input"]), ("major_version", "2", ["1.0, 1.1 and 1.2"]),
                                                ("minor_version", "3", ["\"1\".\"3\""])])
def test_versions(tmp_path, name, value, words):
    source = edited(tmp_path, "p0_speed_density")
    with h5py.File(source, "r+") as file:
        del file.attrs[name]
        file.attrs[name] = np.bytes_(value)
    done = solve(tmp_path, source, "-p")
    assert done.code == 3 and all(word in done.err for word in words), done.err
    with h5py.File(source, "r+") as file:  # strings of variable length are read too
        for key, text in (("file_type", "input"), ("major_version", "1"), ("minor_version", "1")):
            del file.attrs[key]
            file.attrs[key] = text
    assert solve(tmp_path, source, "-p").code == 0


def test_products_that_overflow(tmp_path):
    """A flag of 2^52 + 1 samples of 4096 signals is 4096 elements modulo 2^64."""
    points = np.arange(1, 4097)
    done = solve(tmp_path, edited(tmp_path, "p_source_many_speed", p_source_flag=np.array([2**52 + 1], np.uint64), p_source_index=points,
                                  p_source_input=np.zeros(4096)), "-p")
    assert done.code == 3 and "p_source_input" in done.err and "4096 elements" in done.err


@pytest.mark.parametrize("name", ["c0", "Nx", "sensor_mask_index"])
def test_links_and_groups_are_refused(tmp_path, name):
    """An external link would open, and the output could replace, another file."""
    source = edited(tmp_path, "p0_speed_density")
    shutil.copy(source, tmp_path / "other.h5")
    for link in (h5py.ExternalLink("other.h5", "/" + name), h5py.SoftLink("/nowhere"), None):
        with h5py.File(source, "r+") as file:
            del file[name]
            if link is None:
                file.create_group(name)
            else:
                file[name] = link
        done = solve(tmp_path, source, "-p", output="other.h5")
        assert done.code == 3 and name in done.err and "must be a dataset" in done.err, done.err
        with h5py.File(tmp_path / "other.h5") as other:
            assert other.attrs["file_type"] == b"input"


def test_version_1_0_has_indices(tmp_path):
    source = edited(tmp_path, "p0_speed_density", sensor_mask_type=1)
    with h5py.File(source, "r+") as file:
        del file.attrs["minor_version"]
        file.attrs["minor_version"] = np.bytes_("0")
    assert solve(tmp_path, source, "-p").code == 0
    done = solve(tmp_path, source, "--u_non_staggered_raw", output="b.h5")
    assert done.code == 3 and "1.0" in done.err


def test_help_and_empty_names(tmp_path):
    done = run_program(["--kwave", "-h"], tmp_path)
    assert done.code == 0 and "--p_max_all" in done.out
    done = run_program(["--kwave", "-i", "a.h5", "-o", ""], tmp_path)
    assert done.code == 2 and "-o" in done.err and "kwsim --kwave --help" in done.err


# ---- the other way ----

def written(shop, scene, *arguments):
    done = run_program([shop.write(scene), "--write-kwave", "input.h5", "--force", "--backend", "cpu", *arguments], shop.folder)
    assert done.code == 0, done.err
    return "input.h5"


BURST = {"type": "tone_burst", "amplitude": 1.0, "frequency": 2e6, "cycles": 2.0}


def scenes():
    regions = [{"shape": "halfspace", "normal": [0, 1, 0], "sound_speed": 1700.0, "density": 1200.0}]
    common = {"time": {"cfl": 0.3, "steps": 50}, "record": {"quantities": ["p"]}, "pml": {"size": [4, 5, 3]}}
    sensors = [{"name": "s", "points_index": [[9, 10, 11], [6, 7, 8], [12, 10, 5]]}]
    p0 = {"shapes": [{"shape": "gaussian", "center": [1e-4, 0.0, -1e-4], "sigma": 2e-4, "value": 1e5}]}
    medium = {"sound_speed": C, "density": RHO, "regions": regions}
    yield "p0", periodic([20, 22, 18], H, p0=p0, medium=medium, sensors=sensors, **common)
    yield "all physics", periodic([20, 22, 18], H, p0=p0, sensors=sensors, medium={**medium, "nonlinearity": 6.0, "absorption": {
        "coefficient": 0.5, "power": 1.4}}, **common)
    yield "pml outside", periodic([20, 22, 18], H, p0=p0, medium=medium, sensors=sensors, **{**common, "pml": {"size": [4, 5, 3], "outside": True}})
    yield "p sources", periodic([20, 22, 18], H, medium=medium, sensors=sensors, sources=[
        {"quantity": "p", "points_index": [[9, 8, 7], [10, 12, 9], [9, 8, 7]], "signal": BURST, "delays": [0.0, 1e-7, 2e-7]},
        {"quantity": "volume_velocity", "shape": "point", "center": [1.2e-4, 0.0, 0.3e-4], "signal": {**BURST, "amplitude": 1e-9}}], **common)
    yield "u sources", periodic([20, 22, 18], H, medium=medium, sensors=sensors, sources=[
        {"quantity": "u_normal", "shape": "disc", "radius": 3e-4, "normal": [1, 1, 0], "signal": {**BURST, "amplitude": 1e-6}}], **common)
    yield "dirichlet that holds", periodic([20, 22, 18], H, sensors=sensors, sources=[
        {"quantity": "p", "mode": "dirichlet", "after": "hold", "points_index": [[9, 8, 7]], "signal": [0.0, 1.0, 2.0]}], **common)
    yield "2-D", periodic([24, 26, 1], H, p0=p0, medium=medium, sensors=[{"name": "s", "points_index": [[9, 10, 0], [6, 17, 0]]}],
                          **{**common, "pml": {"size": [4, 5, 0]}})


@slow
@pytest.mark.parametrize("name, scene", list(scenes()), ids=[name for name, scene in scenes()])
def test_scene_as_kwave_input(shop, name, scene):
    """The written file gives the scene's result, to the rounding of its single-precision numbers."""
    wanted = shop.run(scene).p
    assert np.abs(wanted).max() > 0
    got = recorded(shop.folder, written(shop, scene))
    assert relative_error(got, wanted) < 3e-6


def test_boxes_as_corners(shop):
    scene = dict(scenes())["p0"]
    scene["sensors"] = [{"name": "a", "box_index": {"min": [3, 4, 5], "max": [6, 8, 9]}}, {"name": "b", "plane_index": {"axis": "z", "position": 7}}]
    wanted = shop.run(scene).p
    done = solve(shop.folder, written(shop, scene), "-p", double=True)
    assert done.code == 0, done.err
    with h5py.File(shop.folder / "out.h5") as out:
        assert relative_error(out["p/1"][:].transpose(3, 2, 1, 0).reshape(-1, 50), wanted[:100]) < 3e-6
        assert out["p/2"].shape == (50, 1, 22, 20)


@pytest.mark.parametrize("change, words", [
    ({"sensors": [{"name": "s", "points": [[1e-5, 0.0, 0.0]], "interpolation": "linear"}]}, ["interpolated"]),
    ({"sensors": [{"name": "s", "points": [[1e-5, 0.0, 0.0]], "average": True}]}, ["averaged"]),
    ({"medium": {"sound_speed": C, "density": RHO, "absorption": {"coefficient": 0.5, "power": 1.5, "dispersion": False}}}, ["dispersion"]),
    ({"grid": {"size": [1, 20, 20], "spacing": H}, "sensors": [{"name": "s", "points": [[0.0, 0.0, 0.0]]}]}, ["flat"])])
def test_what_a_kwave_file_cannot_say(shop, change, words):
    scene = {**dict(scenes())["p0"], "medium": {"sound_speed": C, "density": RHO}, **change}
    done = run_program([shop.write(scene), "--write-kwave", "input.h5", "--backend", "cpu"], shop.folder)
    assert done.code == 3 and all(word in done.err for word in words), done.err
    assert not (shop.folder / "input.h5").exists()
    (shop.folder / "there.h5").write_text("mine")
    done = run_program([shop.write(dict(scenes())["p0"]), "--write-kwave", "there.h5", "--backend", "cpu"], shop.folder)
    assert done.code == 1 and (shop.folder / "there.h5").read_text() == "mine"


# ---- a front end ----

FRONT_END = """
import hashlib, importlib.util, json, pathlib, shutil, sys
binary = sys.argv[1]
# importing the package downloads the original's binaries unless it finds some: give it ours in their place
folder = pathlib.Path(importlib.util.find_spec("kwave").origin).parent / "bin" / "linux"
folder.mkdir(parents=True, exist_ok=True)
source = (folder.parent.parent / "__init__.py").read_text()
version = source.split('BINARY_VERSION = "')[1].split('"')[0]
for kind in ("OMP", "CUDA"):
    target = folder / ("kspaceFirstOrder-" + kind)
    target.unlink(missing_ok=True)
    shutil.copy(binary, target)
    url = "https://github.com/waltsims/kspaceFirstOrder-%s-linux/releases/download/%s/%s" % (kind, version, target.name)
    (folder / (target.name + "_metadata.json")).write_text(json.dumps(
        {"url": url, "version": version, "file_hash": hashlib.md5(target.read_bytes()).hexdigest()}))
import numpy as np
from kwave.data import Vector
from kwave.kgrid import kWaveGrid
from kwave.kmedium import kWaveMedium
from kwave.ksensor import kSensor
from kwave.ksource import kSource
from kwave.kspaceFirstOrder import kspaceFirstOrder
for dims in (2, 3):
    shape, result = (40,) * dims, {}
    for backend in ("python", "cpp"):
        grid = kWaveGrid(Vector([40] * dims), Vector([1e-4] * dims))
        step = (np.arange(40) > 23).reshape((40,) + (1,) * (dims - 1)) * np.ones(shape)
        medium = kWaveMedium(sound_speed=1500 + 200 * step, density=1000 + 100 * step)
        grid.makeTime(1700, 0.3, 1.5e-6)
        source, sensor = kSource(), kSensor(np.zeros(shape, bool))
        source.p0 = np.zeros(shape)
        source.p0[(slice(16, 22),) * dims] = 1
        sensor.mask[10] = True
        result[backend] = np.asarray(kspaceFirstOrder(grid, medium, source, sensor, pml_size=10, backend=backend, device="cpu", quiet=True)["p"])
    wanted, got = result["python"], result["cpp"].T
    assert got.shape == wanted.shape and np.linalg.norm(got - wanted) / np.linalg.norm(wanted) < 1e-5, dims
print("agrees")
"""


def test_front_end_runs_on_us(tmp_path):
    """k-wave-python writes the file, calls our binary and reads the output; its own NumPy solver is the witness.
    KWSIM_KWAVE_PYTHON names a Python that has it (a virtual environment: its binaries are replaced)."""
    python = os.environ.get("KWSIM_KWAVE_PYTHON")
    if not python:
        pytest.skip("KWSIM_KWAVE_PYTHON names no Python with k-wave-python")
    (tmp_path / "front_end.py").write_text(FRONT_END)
    done = subprocess.run([python, "front_end.py", BINARY], cwd=tmp_path, capture_output=True, env=ENVIRONMENT, timeout=300)
    assert done.returncode == 0 and b"agrees" in done.stdout, done.stderr.decode()


def test_writing_does_not_replace_what_is_read(shop):
    scene = dict(scenes())["p0"]
    name = shop.write(scene)
    before = (shop.folder / name).read_bytes()
    done = run_program([name, "--write-kwave", name, "--force", "--backend", "cpu"], shop.folder)
    assert done.code == 2 and (shop.folder / name).read_bytes() == before
    written(shop, scene)
    assert sorted(os.listdir(shop.folder)) == ["input.h5", name]
