"""The backend cuda as a user meets it. What needs a GPU is skipped, with the reason, where there is none; what is said
when there is none is tested everywhere."""
import os
import re
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

from conftest import BINARY, ENVIRONMENT, need, periodic, read_output, relative_error, run_program, scene_text

H = 1e-4
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))


@pytest.fixture
def gpu():
    need("cuda")


def compiled_with_cuda():
    return "CUDA is not compiled in" not in run_program(["--list-backends"], ".").out


def scene(size=(48, 40, 36), steps=60, **more):
    made = {"grid": {"size": list(size), "spacing": H}, "time": {"cfl": 0.3, "steps": steps},
            "medium": {"sound_speed": 1500.0, "density": 1000.0, "regions": [
                {"shape": "halfspace", "point": [5e-4, 0.0, 0.0], "normal": [1, 0, 0], "sound_speed": 1800.0,
                 "density": 1300.0}]},
            "pml": {"size": [6 if n > 1 else 0 for n in size]},
            "p0": {"shapes": [{"shape": "ball", "radius": 6e-4, "value": 2.0}]},
            "sensors": [{"name": "s", "points": [[1e-3, 0.0, 0.0], [0.0, 0.0, 0.0]]},
                        {"name": "plane", "plane": {"axis": "x", "position": 0.0}}],
            "record": {"quantities": ["p", "p_final"]}}
    made.update(more)
    return made


# ---- the same numbers ----

@pytest.mark.parametrize("size", [(48, 40, 36), (31, 37, 41), (64, 75, 1), (1, 50, 61), (47, 1, 32), (97, 1, 1)])
def test_gpu_agrees_with_cpu_double(shop, gpu, size):
    made = scene(size)
    if size[0] == 1:
        made["medium"]["regions"][0]["normal"] = [0, 1, 0]
        made["sensors"][0]["points"] = [[0.0, 1e-3, 0.0], [0.0, 0.0, 0.0]]
    one, two = shop.run(made), shop.run(made, double=False, backend="cuda", output="gpu.h5")
    assert two.attributes["backend"] == "cuda" and two.p.dtype == np.float32
    assert relative_error(two.p, one.p) < 5e-6 and relative_error(two.p_final, one.p_final) < 5e-6


def test_gpu_runs_repeat_bit_for_bit(shop, gpu):
    one, two = (shop.run(scene(), double=False, backend="cuda", output=name) for name in ("a.h5", "b.h5"))
    assert (one.p == two.p).all() and (one.p_final == two.p_final).all()


@pytest.mark.parametrize("steps", [1, 2, 9, 10, 11, 63, 64, 65, 129, 257])
def test_every_number_of_steps_is_recorded_whole(shop, gpu, steps):
    whole = shop.run(scene(), "--steps", 300, double=False, backend="cuda", output="whole.h5")
    result = shop.run(scene(), "--steps", steps, double=False, backend="cuda")
    assert result.p.shape[1] == steps and (result.p == whole.p[:, :steps]).all()
    late = shop.run(scene(record={"from_step": steps - 1}), "--steps", steps, double=False, backend="cuda")
    assert (late.p[:, 0] == whole.p[:, steps - 1]).all() and late.p.shape[1] == 1


def test_the_whole_grid_as_sensors(shop, gpu):
    """The ring holds one sample or a few; every chunk arrives."""
    made = scene((128, 120, 110), 23, sensors=[{"name": "all", "box_index": {"min": [0, 0, 0], "max": [127, 119, 109]}}])
    result = shop.run(made, double=False, backend="cuda")
    cpu = shop.run(made, double=False, output="cpu.h5")
    assert (result.p[:, -1] == result.p_final.ravel()).all()
    assert relative_error(result.p, cpu.p) < 5e-6


def test_auto_takes_the_gpu_and_says_so(shop, gpu):
    done = shop.try_run(scene(), backend="auto")
    assert done.code == 0 and "backend    cuda, preferred by auto" in done.err
    done = shop.try_run(scene(), "--precision", "double", "--force", backend="auto")
    assert done.code == 0 and "backend    cpu, taken by auto because cuda: the backend cuda computes in single" in done.err


def test_unstable_and_interrupted_runs_end_as_on_the_cpu(shop, gpu):
    file, = shop.maps(p0=np.random.default_rng(1).standard_normal((48, 40, 36)))
    bad = scene(p0=file, medium={"sound_speed": 1500.0, "density": 1000.0, "reference_speed": 500.0},
                time={"cfl": 1.0, "steps": 3000, "allow_unstable": True})
    done = shop.try_run(bad, backend="cuda")
    result = read_output(shop.folder / "scene.h5.part")
    assert done.code == 5 and "went unstable" in done.err and result.attributes["status"] == "unstable"
    assert result.p.shape[1] == result.attributes["steps_done"] <= 60
    os.remove(shop.folder / "scene.h5.part")
    name = shop.write(scene(steps=10000000))
    run = subprocess.Popen([BINARY, name, "--backend", "cuda"], cwd=shop.folder, env=ENVIRONMENT, stderr=subprocess.PIPE)
    time.sleep(3)
    run.send_signal(signal.SIGINT)
    err = run.communicate(timeout=30)[1]
    result = read_output(shop.folder / "scene.h5.part")
    assert run.returncode == 130 and b"interrupted" in err
    assert result.p.shape[1] == result.attributes["steps_done"] > 0


def test_more_than_the_card_has_is_refused_at_once(shop, gpu):
    start = time.time()
    done = shop.try_run(scene((4096, 4096, 4096)), backend="cuda")
    assert done.code == 4 and time.time() - start < 5
    for part in ("the run needs", "TB", "free", "thinner PML", "sensors", "coarser grid"):
        assert part in done.err
    assert os.listdir(shop.folder) == ["scene.cfg"]


# ---- what is said when it does not work ----

@pytest.mark.parametrize("visible", ["", "-1", "77"])
def test_hidden_devices_are_named(shop, visible):
    if not compiled_with_cuda():
        pytest.skip("built without CUDA")
    done = shop.try_run(scene(), backend="cuda", environment={"CUDA_VISIBLE_DEVICES": visible})
    assert done.code == 4 and "--backend cpu" in done.err
    assert "no NVIDIA driver" in done.err or 'CUDA_VISIBLE_DEVICES is "%s"' % visible in done.err
    done = shop.try_run(scene(), backend="auto", environment={"CUDA_VISIBLE_DEVICES": visible})
    assert done.code == 0 and "backend    cpu, taken by auto because cuda: " in done.err


def test_wrong_device_number(shop, gpu):
    done = shop.try_run(scene(), "--device", "99", backend="cuda")
    assert done.code == 4 and "there is no GPU of number 99: --device takes 0 to" in done.err


def test_double_precision_names_the_cpu(shop):
    if not compiled_with_cuda():
        pytest.skip("built without CUDA")
    done = shop.try_run(scene(), "--precision", "double", backend="cuda")
    assert done.code == 4 and "single precision only; use --backend cpu" in done.err


def test_missing_cufft_is_named(shop, gpu):
    """A copy of the program that looks for cuFFT under another name."""
    with open(BINARY, "rb") as file:
        program = file.read()
    assert program.count(b"libcufft.so.") >= 1
    other = shop.folder / "kwsim-without"
    other.write_bytes(program.replace(b"libcufft.so.", b"libcuXXt.so."))
    other.chmod(0o755)
    name = shop.write(scene())
    done = subprocess.run([other, name, "--backend", "cuda"], cwd=shop.folder, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 4 and "is not found: install cuFFT" in done.stderr and "--backend cpu" in done.stderr
    done = subprocess.run([other, name, "--backend", "auto"], cwd=shop.folder, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0 and "taken by auto because" in done.stderr


def test_dry_run_prints_the_memory_of_both_backends(shop):
    done = shop.try_run(scene(), "--dry-run", backend="auto")
    assert done.code == 0
    alone = shop.try_run(scene(), "--dry-run", backend="cpu").out
    asked = re.search(r"(?m)^memory +([\d.]+ MB) of", alone).group(1)
    assert re.search(r"memory on cpu +([\d.]+ MB) of", done.out).group(1) == asked  # one question, one answer
    assert re.search(r"memory on cuda +([\d.]+ MB of|not usable: )", done.out)


# ---- how it is built ----

def test_no_double_in_the_kernels(tmp_path):
    """float32 throughout: no f64 instruction in the PTX of any kernel."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(nvcc):
        pytest.skip("needs nvcc")
    ptx = tmp_path / "kernels.ptx"
    subprocess.run([nvcc, "-std=c++17", "-O3", "-ptx", "-arch=compute_75", "-I", os.path.join(ROOT, "include"),
                    os.path.join(ROOT, "cuda", "kernels.cu"), "-o", ptx], check=True)
    text = ptx.read_text()
    assert ".entry" in text and ".f32" in text and ".f64" not in text


def test_no_managed_memory():
    for name in os.listdir(os.path.join(ROOT, "cuda")):
        with open(os.path.join(ROOT, "cuda", name)) as file:
            assert "cudaMallocManaged" not in file.read()
