"""The project by itself: what is documented is there and true, the installed program works, pictures are drawn, and a
run is clean under valgrind."""
import glob
import os
import re
import shutil
import subprocess
import sys

import h5py
import pytest

from conftest import BINARY, ENVIRONMENT, read_output, run_program

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))


def text_of(*path):
    with open(os.path.join(ROOT, *path)) as file:
        return file.read()


def tracked_files():
    return [f for pattern in ("src/**/*.[ch]", "include/**/*.h", "cuda/**/*", "scripts/*", "configs/*", "tests/*", "benchmarks/*",
                              "README.md", "CMakeLists.txt") for f in glob.glob(os.path.join(ROOT, pattern), recursive=True)
            if os.path.isfile(f)]


# ---- the scene's reference ----

def reader_keys():
    """The keys that the reader knows, from its own lists."""
    keys = set()
    for file in glob.glob(os.path.join(ROOT, "src/scene/*.c")):
        with open(file) as f:
            for words in re.findall(r'check_keys\([^"]*?"([^"]*)"', f.read()) + re.findall(
                    r'kw_scene_shape\([^"]*?"([^"]*)"', text_of("src/scene/maps.c")):
                keys.update(words.replace("%s", "").split())
    return keys


def test_reference_scene_shows_every_key():
    shown = set(re.findall(r"\b([a-z0-9_]+)\s*[=:]", text_of("configs", "reference.cfg")))
    keys = reader_keys()
    assert len(keys) > 40
    assert keys <= shown, "not in configs/reference.cfg: %s" % (keys - shown)


def test_reference_scene_shows_the_true_defaults(shop):
    """Each "default VALUE" of the reference is what a scene without the key gets, by the scene stored in the output."""
    scene = """grid: { size = [64, 60, 54]; spacing = 1e-4; }; medium: { sound_speed = 1500.0; density = 1000.0; };
               p0 = { shapes = ( { shape = "ball"; radius = 2e-4; value = 0.0; } ); }; sensors: ( { name = "s"; points = ( (0.0, 0.0, 0.0) ); } ); time: { steps = 1; };"""
    shop.run(scene)
    with h5py.File(shop.folder / "out.h5") as f:
        resolved = f["scene"].asstr()[()]
    found, group = set(), None
    for line in text_of("configs", "reference.cfg").splitlines():
        group = (re.findall(r"^(\w+):", line) or [group])[0]
        for key, value in re.findall(r'(\w+) = [^;=]+;.*default (\d[\d.]*|true|false|"\w+"|\["p"\])$', line):
            found.add(key)
            if key in ("quantities", "attenuation", "dispersion", "mode", "after", "window", "phase", "delay", "ramp_cycles",
                       "stepper", "snap", "apodization", "delays"):
                continue  # lists, or of groups that the small scene does not have: below and in test_scene.py
            own, = [text for text in resolved.splitlines() if text.startswith(group + " = ")]
            got = re.search(r"\b%s = ([^;]+);" % key, own).group(1)
            assert got == value or got == "( %s )" % ", ".join([value] * 3), key
    assert found == {"window", "phase", "delay", "ramp_cycles", "attenuation", "dispersion", "mode", "after", "cfl", "allow_unstable", "size", "alpha", "from_step", "wisdom", "interpolation", "quantities",
                     "stepper", "estimate_stability", "smooth", "restore_maximum", "outside", "average", "every", "compression", "xdmf", "snap", "apodization", "delays"}
    assert read_output(shop.folder / "out.h5").p is not None  # quantities: p


@pytest.mark.parametrize("scene", sorted(glob.glob(os.path.join(ROOT, "configs", "*.cfg"))), ids=os.path.basename)
def test_every_config_runs(shop, scene):
    done = run_program([scene, "--backend", "cpu", "--steps", 12, "-o", "out.h5"], shop.folder)
    assert done.code == 0, done.err


# ---- options ----

def test_help_manual_and_completion_know_the_same_options(shop):
    done = run_program(["--help"], shop.folder)
    options = set(re.findall(r"--([a-z-]+)", done.out)) - {"cfl"}
    options = {o for o in options if o}
    manual = set(re.findall(r"\\-\\-([a-z]+(?:\\-[a-z]+)*)", text_of("src", "app", "kwsim.1")))
    assert options == {o.replace("\\", "") for o in manual}
    words = re.search(r"compgen -W '(--output=.*?)'", text_of("src", "app", "kwsim.bash"), re.S).group(1)
    assert options == {w.strip("-=") for w in words.split()}


def test_readme_names_only_what_exists():
    readme = text_of("README.md")
    for path in re.findall(r"`((?:configs|scripts|src|include|tests|benchmarks|cuda|examples)/[\w./-]*)`", readme):
        assert os.path.exists(os.path.join(ROOT, path)), path
    for option in set(re.findall(r"(?<![\w-])--([a-z-]{3,})", readme)):
        assert option in (text_of("src", "app", "options.c") + text_of("src", "app", "kwave_options.c")) or option in ("build", "install", "prefix"), option


def test_the_project_stands_alone():
    for name in tracked_files():
        with open(name, errors="replace") as file:
            assert "../" + "shared" not in file.read(), name


# ---- the scripts and the installation ----

def test_plot_draws_traces_and_field(shop):
    shop.run("""grid: { size = [24, 20, 18]; spacing = 1e-4; }; time: { steps = 5; }; pml: { size = 4; };
                medium: { sound_speed = 1500.0; density = 1000.0; }; record: { quantities = ["p", "p_final"]; };
                p0: { shapes = ( { shape = "ball"; radius = 4e-4; value = 1.0; } ); };
                sensors: ( { name = "s"; points = ( (0.0, 0.0, 0.0) ); } );""")
    environment = {k: v for k, v in os.environ.items() if k != "DISPLAY"}
    plot = [sys.executable, os.path.join(ROOT, "scripts", "plot.py")]
    for more in ([], ["--axis", "x", "--index", "3", "-o", "x.png"]):
        done = subprocess.run(plot + ["out.h5"] + more, cwd=shop.folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        with open(shop.folder / done.stdout.strip(), "rb") as file:
            assert file.read(8) == b"\x89PNG\r\n\x1a\n"
    for wrong in (["none.h5"], ["scene.cfg"], ["out.h5", "--index", "99"]):
        done = subprocess.run(plot + wrong, cwd=shop.folder, env=environment, capture_output=True, text=True)
        assert done.returncode != 0 and done.stderr.startswith("plot.py: ") and done.stderr.count("\n") == 1


def test_installation(tmp_path):
    build = os.path.dirname(BINARY)
    subprocess.run(["cmake", "--install", build, "--prefix", str(tmp_path)], check=True, capture_output=True)
    program = tmp_path / "bin" / "kwsim"
    assert os.access(program, os.X_OK)
    assert subprocess.run([program, "--version"], capture_output=True).returncode == 0
    assert (tmp_path / "share" / "man" / "man1" / "kwsim.1").exists()
    completion = tmp_path / "share" / "bash-completion" / "completions" / "kwsim"
    assert subprocess.run(["bash", "-n", completion]).returncode == 0


def test_manual_is_well_formed():
    if shutil.which("man") is None:
        pytest.skip("needs man")
    done = subprocess.run(["man", "--warnings", "-l", os.path.join(ROOT, "src/app/kwsim.1")], capture_output=True, text=True,
                          env={**os.environ, "MANWIDTH": "100"})
    assert done.returncode == 0 and "warning" not in done.stderr and "SYNOPSIS" in done.stdout


# ---- valgrind ----

def test_small_run_is_clean_under_valgrind(shop):
    if shutil.which("valgrind") is None:
        pytest.skip("needs valgrind")
    with open(BINARY, "rb") as file:
        if b"__asan_init" in file.read():
            pytest.skip("not together with the sanitizers")
    shop.write("""grid: { size = [12, 10, 9]; spacing = 1e-4; }; time: { steps = 4; }; pml: { size = 2; };
                  medium: { sound_speed = 1500.0; density = 1000.0;
                            regions = ( { shape = "ball"; radius = 2e-4; sound_speed = 1600.0; density = 1100.0; } ); };
                  p0: { shapes = ( { shape = "ball"; radius = 2e-4; value = 1.0; } ); };
                  record: { quantities = ["p", "p_final"]; };
                  sensors: ( { name = "s"; points = ( (0.0, 0.0, 0.0) ); } );""")
    done = subprocess.run(["valgrind", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite", "-q", BINARY,
                           "scene.cfg", "--backend", "cpu", "--threads", "1"], cwd=shop.folder, capture_output=True, text=True,
                          env=ENVIRONMENT, timeout=600)
    assert done.returncode == 0, done.stderr
