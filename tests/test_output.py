"""What a run leaves: the output file, exit codes, signals, messages while it runs; and field reports that concern them."""
import os
import re
import signal
import subprocess
import time

import h5py
import numpy as np
import pytest

from conftest import BINARY, ENVIRONMENT, periodic, read_output, relative_error, run_program, scene_text

H = 1e-4


def small(**more):
    scene = {"grid": {"size": [24, 20, 18], "spacing": H}, "time": {"cfl": 0.3, "steps": 30},
             "medium": {"sound_speed": 1500.0, "density": 1000.0}, "pml": {"size": 4},
             "p0": {"shapes": [{"shape": "ball", "radius": 4e-4, "value": 1.0}]},
             "sensors": [{"name": "ring", "points": [[5e-4, 0.2e-4, 0.0], [0.0, 5e-4, 0.0], [5e-4, 0.2e-4, 0.0]]},
                         {"name": "slab", "box_index": {"min": [4, 5, 6], "max": [5, 7, 6]}}]}
    scene.update(more)
    return scene


# ---- the file ----

def test_everything_to_read_the_result_is_in_the_file(shop):
    shop.run(small(record={"quantities": ["p", "p_final"]}), "--threads", "2", double=False)
    with h5py.File(shop.folder / "out.h5") as f:
        assert f.attrs["format"] == "kwsim" and f.attrs["format_version"] == 1
        assert f.attrs["status"] == "complete" and f.attrs["steps_done"] == 30
        assert f.attrs["backend"] == "cpu" and f.attrs["precision"] == "single" and f.attrs["threads"] == 2
        assert f.attrs["stepper"] == "mixed" and f.attrs["plan"].startswith("fftw-")
        assert re.match(r"\d+\.\d+\.\d+$", f.attrs["version"]) and f.attrs["device"]
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", f.attrs["created"])
        for name in ("seconds_setup", "seconds_stepping", "seconds_total", "memory_bytes"):
            assert f.attrs[name] > 0
        assert f["p"].shape == (9, 30) and f["p"].dtype == np.float32
        assert f["p"].attrs["units"] == "Pa" and list(f["p"].attrs["axes"]) == ["sensor", "time"]
        assert f["p_final"].shape == (24, 20, 18) and list(f["p_final"].attrs["axes"]) == ["x", "y", "z"]
        t = f["time"]
        assert t.attrs["units"] == "s" and t.attrs["steps"] == 30 and t.shape == (30,)
        assert np.allclose(t[:], np.arange(30) * t.attrs["dt"]) and t.attrs["dt"] == pytest.approx(0.3 * H / 1500)
        assert list(f["sensors/names"].asstr()) == ["ring", "slab"]
        assert list(f["sensors/set"]) == [0] * 3 + [1] * 6
        assert f["sensors/index"][:3].tolist() == [[17, 10, 9], [12, 15, 9], [17, 10, 9]]
        assert f["sensors/index"][3:].tolist() == [[x, y, 6] for x in (4, 5) for y in (5, 6, 7)]  # z fastest
        assert np.allclose(f["sensors/position"][0], [5e-4, 0.2e-4, 0])
        assert np.allclose(f["sensors/position_used"][0], [5e-4, 0, 0])
        assert f["sensors/position"].attrs["units"] == "m"
        assert list(f["grid"].attrs["size"]) == [24, 20, 18] and list(f["grid"].attrs["origin_index"]) == [12, 10, 9]
        assert list(f["grid"].attrs["pml_size"]) == [4, 4, 4] and list(f["grid"].attrs["pml_alpha"]) == [2, 2, 2]
        assert f["medium"].attrs["reference_speed"] == 1500
        assert f["medium"].attrs["max_frequency"] == pytest.approx(7.5e6)
        assert (f["p"][0] == f["p"][2]).all()  # a point listed twice is recorded twice


def test_single_precision_is_four_bytes_throughout(shop):
    """No silent double: the datasets, and the memory, half of double's."""
    one = shop.run(small(grid={"size": [64, 60, 50], "spacing": H}, record={"quantities": ["p", "p_final"]}), double=False)
    two = shop.run(small(grid={"size": [64, 60, 50], "spacing": H}, record={"quantities": ["p", "p_final"]}))
    assert one.p.dtype == one.p_final.dtype == np.float32 and two.p.dtype == two.p_final.dtype == np.float64
    assert two.attributes["memory_bytes"] / one.attributes["memory_bytes"] == pytest.approx(2, abs=0.02)


def test_memory_is_within_seventeen_fields(shop):
    scene = small(grid={"size": [64, 64, 64], "spacing": H})
    maps = shop.maps(c=np.random.default_rng(1).random((64, 64, 64)) + 1500, rho=np.random.default_rng(2).random((64, 64, 64)) + 1000)
    for medium in ({"sound_speed": 1500.0, "density": 1000.0}, {"sound_speed": maps[0], "density": maps[1]}):
        result = shop.run(dict(scene, medium=medium), double=False)
        assert result.attributes["memory_bytes"] <= 17 * 4 * 64**3


def test_marker_lies_where_it_was_put(shop):
    """A mark that is symmetric in no axis, on a grid of three sizes: p[x, y, z] in h5py."""
    p0 = np.zeros((20, 30, 40))
    p0[3, 5:9, 7] = 1
    p0[3, 8, 7:15] = 2
    p0[3:6, 8, 14] = 3
    file, = shop.maps(p0=p0)
    result = shop.run(periodic([20, 30, 40], p0=file, time={"cfl": 0.3, "steps": 1}))
    assert (result.p_final == p0).all()


def test_sensor_order_is_the_listed_order(shop):
    rng = np.random.default_rng(3)
    index = np.stack([rng.integers(0, n, 50) for n in (24, 20, 18)], 1)
    p0 = rng.standard_normal((24, 20, 18))
    files = shop.maps(index=index, p0=p0, metres=(index - [12, 10, 9]) * H)
    for key, file in (("points_index", files[0]), ("points", files[2])):
        result = shop.run(small(p0=files[1], sensors=[{"name": "s", key: file}], time={"cfl": 0.3, "steps": 1}))
        assert (result.p[:, 0] == p0[tuple(index.T)]).all()


def test_planes_and_boxes(shop):
    rng = np.random.default_rng(4)
    p0 = rng.standard_normal((24, 20, 18))
    file, = shop.maps(p0=p0)
    sensors = [{"name": "x", "plane": {"axis": "x", "position": 1.2e-4}}, {"name": "y", "plane_index": {"axis": "y", "position": 3}},
               {"name": "b", "box": {"min": [-1e-4, 0.0, -2.5e-4], "max": [2e-4, 0.0, 3e-4]}}]
    p = shop.run(small(p0=file, sensors=sensors, time={"cfl": 0.3, "steps": 1})).p[:, 0]
    wanted = np.concatenate([p0[13].ravel(), p0[:, 3].ravel(), p0[11:15, 10:11, 7:13].ravel()])
    assert (p == wanted).all()


def test_traces_equal_the_field(shop):
    """The sensors of a plane against p_final, at the last step."""
    scene = small(sensors=[{"name": "x", "plane_index": {"axis": "x", "position": 15}}], record={"quantities": ["p", "p_final"]})
    result = shop.run(scene)
    assert (result.p[:, -1] == result.p_final[15].ravel()).all()


@pytest.mark.parametrize("start, samples", [(0, 30), (1, 29), (29, 1)])
def test_recording_starts_where_it_is_told(shop, start, samples):
    whole = shop.run(small(), output="whole.h5")
    late = shop.run(small(record={"from_step": start}))
    assert late.p.shape == (9, samples) and (late.p == whole.p[:, start:]).all()
    assert late.time[0] == whole.time[start] == late.time_attributes["t0"]
    assert late.time_attributes["first_step"] == start


@pytest.mark.parametrize("steps", [1, 2, 3, 19, 20, 21, 50, 63, 64, 65, 99, 127, 255, 256, 257, 511, 512, 513])
def test_every_number_of_steps_is_recorded_whole(shop, steps):
    """Around the sizes of the ring, of the blocks and of the watch; the last chunk is there, 100 % is reached."""
    whole = shop.run(small(), "--steps", 520, output="whole.h5")
    result = shop.run(small(), "--steps", steps)
    assert result.p.shape == (9, steps) and (result.p == whole.p[:, :steps]).all()
    assert "100 %%  step %d of %d" % (steps, steps) in result.done.err
    assert result.attributes["steps_done"] == steps


def test_many_sensors_and_few_samples(shop):
    """Blocks and chunks of every shape: the whole grid as sensors."""
    scene = periodic([96, 90, 80], p0={"shapes": [{"shape": "ball", "radius": 1e-3, "value": 1.0}]}, pml={"size": 4},
                     record={"quantities": ["p", "p_final"]}, time={"cfl": 0.3, "steps": 33},
                     sensors=[{"name": "all", "box_index": {"min": [0, 0, 0], "max": [95, 89, 79]}}])
    result = shop.run(scene, double=False)
    assert result.p.shape == (96 * 90 * 80, 33)
    assert (result.p[:, -1] == result.p_final.ravel()).all()


def test_no_sensors_with_a_final_field(shop):
    scene = small(record={"quantities": ["p_final"]})
    del scene["sensors"]
    result = shop.run(scene)
    assert result.p is None and result.p_final.shape == (24, 20, 18)


# ---- the resolved scene ----

def test_stored_scene_is_complete_and_gives_the_same_result(shop):
    maps = shop.maps(c=np.random.default_rng(1).random((24, 20, 18)) * 100 + 1500)
    scene = small(medium={"sound_speed": maps[0], "density": 1000.0})
    del scene["time"]["cfl"]
    first = shop.run(scene, "--set", "p0.shapes[0].value=2.5", "--set", "medium.density=1100", "--steps", 25)
    with h5py.File(shop.folder / "out.h5") as f:
        text = f["scene"].asstr()[()]
    for part in ("cfl = 0.3", "alpha = ( 2.0, 2.0, 2.0 )", "value = 2.5", "steps = 25", "density = 1100", 'interpolation = "nearest"'):
        assert part in text
    (shop.folder / "elsewhere").mkdir()
    (shop.folder / "elsewhere" / "again.cfg").write_text(text)  # the map's path is absolute now
    done = run_program(["elsewhere/again.cfg", "--backend", "cpu", "-o", "again.h5", "--precision", "double"], shop.folder)
    assert done.code == 0, done.err
    again = read_output(shop.folder / "again.h5")
    assert (again.p == first.p).all()
    with h5py.File(shop.folder / "again.h5") as f:
        assert f["scene"].asstr()[()] == text


# ---- repeatable, parallel ----

def test_two_runs_give_the_same_bits(shop):
    one, two = (shop.run(small(), output=name, double=False).p for name in ("a.h5", "b.h5"))
    assert (one == two).all()


def test_threads_do_not_change_the_bits(shop):
    one, two = (shop.run(small(), "--threads", n, output="%d.h5" % n).p for n in (1, 3))
    assert (one == two).all()


def test_eight_runs_at_once_equal_the_serial_one(shop):
    serial = shop.run(small(), output="serial.h5").p
    scene = shop.write(small())
    runs = [subprocess.Popen([BINARY, scene, "--backend", "cpu", "-q", "--precision", "double", "-o", "p%d.h5" % i], cwd=shop.folder,
                             env=ENVIRONMENT) for i in range(8)]
    assert [run.wait() for run in runs] == [0] * 8
    for i in range(8):
        assert (read_output(shop.folder / ("p%d.h5" % i)).p == serial).all()


def test_wisdom_is_kept_and_can_be_turned_off(shop):
    cache = shop.folder / "cache"
    shop.run(small(cpu={"wisdom": False}), environment={"KWSIM_CACHE_DIR": str(cache)})
    assert not cache.exists()
    first = shop.run(small(), environment={"KWSIM_CACHE_DIR": str(cache)})
    assert [f.name for f in cache.iterdir()] == ["fftw-double.wisdom"]
    second = shop.run(small(), environment={"KWSIM_CACHE_DIR": str(cache)})
    assert (first.p == second.p).all() and first.attributes["plan"] == second.attributes["plan"]


@pytest.mark.parametrize("environment", [{"KWSIM_CACHE_DIR": "/proc/none"}, {"KWSIM_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": ""}])
def test_no_cache_folder_only_costs_time(shop, environment):
    assert shop.run(small(), environment=environment).p.shape == (9, 30)


def test_damaged_wisdom_is_replaced(shop):
    cache = shop.folder / "cache"
    cache.mkdir()
    (cache / "fftw-double.wisdom").write_text("rubbish")
    shop.run(small(), environment={"KWSIM_CACHE_DIR": str(cache)})
    assert (cache / "fftw-double.wisdom").read_text().startswith("(fftw")


# ---- ends ----

def exploding(shop, steps=3000):
    file, = shop.maps(p0=np.random.default_rng(1).standard_normal((24, 20, 18)))
    return small(p0=file, medium={"sound_speed": 1500.0, "density": 1000.0, "reference_speed": 500.0},
                 time={"cfl": 1.0, "steps": steps, "allow_unstable": True})


def test_unstable_run_stops_and_keeps_what_was_recorded(shop):
    done = shop.try_run(exploding(shop), "--precision", "double")
    assert done.code == 5 and done.out == ""
    for part in ("went unstable", "The last finite maximum was", "at step", "growing by a factor of", "smaller time.cfl", "smoother p0", "thicker PML",
                 "scene.h5.part"):
        assert part in done.err
    assert done.err.index("smaller time.cfl") < done.err.index("smoother") < done.err.index("thicker PML")
    assert not (shop.folder / "scene.h5").exists()
    result = read_output(shop.folder / "scene.h5.part")
    steps = result.attributes["steps_done"]
    assert result.attributes["status"] == "unstable" and result.p.shape == (9, steps) and steps < 3000
    stop, = re.findall(r"at step (\d+) the pressure", done.err)
    assert int(stop) == steps - 1
    # stopped within 50 steps of its start: the growth passes 1e6 times p0 no earlier than that before the stop
    peak = np.abs(result.p).max(0)
    assert steps - 1 - np.argmax(peak > 1e6 * 5) <= 50
    assert np.isfinite(result.p[:, :steps - 50]).all()


def test_nan_is_caught_in_single_precision_too(shop):
    """Growth so fast that single precision overflows between two looks."""
    scene = exploding(shop)
    scene["time"] = {"cfl": 30.0, "steps": 3000, "allow_unstable": True}
    scene["p0"] = {"shapes": [{"shape": "ball", "radius": 4e-4, "value": 1e29}]}
    done = shop.try_run(scene)
    assert done.code == 5 and ("no longer finite" in done.err or "times the largest" in done.err)
    assert read_output(shop.folder / "scene.h5.part").attributes["steps_done"] <= 50


def test_strong_impedance_step_is_stable_or_says_so(shop):
    scene = small(medium={"sound_speed": 330.0, "density": 1.2, "regions": [
        {"shape": "box", "size_index": [8, 8, 8], "sound_speed": 5900.0, "density": 7800.0}]}, time={"cfl": 0.3, "steps": 2000})
    done = shop.try_run(scene)
    assert done.code in (0, 5)
    result = read_output(shop.folder / ("scene.h5" if done.code == 0 else "scene.h5.part"))
    assert result.p.shape[1] == result.attributes["steps_done"]
    assert np.isfinite(result.p).all() if done.code == 0 else "went unstable" in done.err


def long_run(shop, *arguments):
    scene = shop.write(small(grid={"size": [64, 64, 64], "spacing": H}, time={"cfl": 0.3, "steps": 1000000}))
    run = subprocess.Popen([BINARY, scene, "--backend", "cpu", *arguments], cwd=shop.folder, env=ENVIRONMENT,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    part = shop.folder / "scene.h5.part"
    for _ in range(600):
        if part.exists():
            break
        time.sleep(0.05)
    time.sleep(1.0)
    return run


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_ends_cleanly(shop, number):
    run = long_run(shop)
    start = time.time()
    run.send_signal(number)
    out, err = run.communicate(timeout=20)
    assert run.returncode == 130 and time.time() - start < 5
    assert b"interrupted after " in err and b"scene.h5.part" in err
    result = read_output(shop.folder / "scene.h5.part")
    assert result.attributes["status"] == "interrupted"
    assert result.p.shape == (9, result.attributes["steps_done"]) and result.p.shape[1] > 0
    assert not (shop.folder / "scene.h5").exists()


def test_memory_does_not_grow_with_steps(shop):
    """Ten times the steps, the same peak (the kernel's own count)."""
    peaks = []
    for steps in (2000, 20000):
        done = shop.try_run(small(), "--steps", steps, "--force", "-q")
        assert done.code == 0
        peaks.append(float(re.search(r"peak memory ([\d.]+) MB", done.out).group(1)))
    kept = 300 if "KWSIM_SANITIZED" in os.environ else 3  # AddressSanitizer keeps what is freed for a while
    assert peaks[1] < peaks[0] + kept


# ---- what is said ----

def test_dry_run_prints_the_summary_and_writes_nothing(shop):
    done = shop.try_run(small(), "--dry-run")
    assert done.code == 0 and os.listdir(shop.folder) == ["scene.cfg"]
    for part in ("24 x 20 x 18 points", "spacing 0.1 x 0.1 x 0.1 mm", "c0 1500 m/s", "c_ref 1500 m/s", "30 steps of 20 ns (CFL 0.3)",
                 "up to 7.5 MHz", "9 points in 2 sets", "backend    cpu", "single precision", "memory"):
        assert part in done.out


def test_quiet_and_verbose(shop):
    quiet = shop.try_run(small(), "-q")
    assert quiet.code == 0 and quiet.err == "" and quiet.out.count("\n") == 1
    verbose = shop.try_run(small(), "-v", "--force")
    assert verbose.code == 0 and "%" in verbose.err
    still = shop.try_run(small(), "--no-progress", "--force")
    assert still.code == 0 and "%" not in still.err and "grid " in still.err


def test_layers_take_dt_from_the_fastest_and_duration_from_the_slowest(shop):
    scene = small(medium={"sound_speed": 1500.0, "density": 1000.0, "regions": [
        {"shape": "halfspace", "normal": [1, 0, 0], "sound_speed": 3000.0}]}, time={"cfl": 0.3})
    attributes = shop.run(scene).time_attributes
    dt = 0.3 * H / 3000
    diagonal = H * np.sqrt(24**2 + 20**2 + 18**2)
    assert attributes["dt"] == pytest.approx(dt, rel=1e-12)
    assert attributes["steps"] == int(diagonal / 1500 / dt) + 1


def test_arrival_from_the_file_alone(shop):
    """Time and positions in the file are enough to find the wave where c says it is."""
    scene = small(grid={"size": [48, 48, 48], "spacing": H}, time={"cfl": 0.3, "steps": 80}, pml={"size": 6},
                  p0={"shapes": [{"shape": "gaussian", "sigma": 2e-4, "value": 1.0}]},
                  sensors=[{"name": "s", "points": [[1.2e-3, 0.0, 0.0], [0.0, -1.4e-3, 0.0]]}])
    shop.run(scene)
    with h5py.File(shop.folder / "out.h5") as f:
        for row, position in zip(f["p"][:], f["sensors/position_used"][:]):
            r = np.linalg.norm(position)
            s = (r - 1500 * f["time"][:]) / 2e-4
            wanted = 0.5 * s * 2e-4 / r * np.exp(-s**2 / 2)
            assert relative_error(row, wanted) < 2e-2


def test_cpu_backend_never_touches_the_driver(shop):
    """--backend cpu opens no library of the GPU."""
    if subprocess.run(["which", "strace"], capture_output=True).returncode != 0:
        pytest.skip("needs strace")
    scene = shop.write(small())
    subprocess.run(["strace", "-f", "-e", "trace=open,openat", "-o", "trace", BINARY, scene, "--backend", "cpu"], cwd=shop.folder,
                   env={**ENVIRONMENT, "ASAN_OPTIONS": "detect_leaks=0"},  # it cannot look for leaks when traced
                   check=True, capture_output=True)
    trace = (shop.folder / "trace").read_text()
    assert "scene.cfg" in trace and "libcuda" not in trace and "libcufft" not in trace and "/dev/nvidia" not in trace


def test_one_program_without_odd_libraries():
    """The program needs what Debian's packages bring, nothing of a GPU and nothing of this checkout."""
    needed = subprocess.run(["ldd", BINARY], capture_output=True, text=True).stdout
    assert "not found" not in needed and "libcuda" not in needed and "libcufft" not in needed
