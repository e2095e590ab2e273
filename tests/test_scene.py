"""Wrong scenes and command lines: each has its exit code and a message with place, key, value and what is allowed,
and leaves no file. Also what is accepted although it looks odd."""
import os
import resource
import subprocess

import h5py
import numpy as np
import pytest

from conftest import BINARY, ENVIRONMENT, Workshop, periodic, read_output, relative_error, run_program, scene_text

GOOD = """grid:   { size = [24, 20, 18]; spacing = 1e-4; };
time:   { cfl = 0.3; steps = 10; };
medium: { sound_speed = 1500.0; density = 1000.0; };
pml:    { size = 4; };
p0:     { shapes = ( { shape = "ball"; radius = 4e-4; value = 1.0; } ); };
sensors: ( { name = "a"; points = ( (5e-4, 0.0, 0.0) ); } );
"""


def change(old, new):
    assert old in GOOD
    return GOOD.replace(old, new)


def no_output(folder):
    return not [f for f in os.listdir(folder) if f.endswith((".h5", ".part")) and f != "maps.h5"]


def test_the_good_scene_is_good(shop):
    done = shop.try_run(GOOD)
    assert done.code == 0 and os.path.exists(shop.folder / "scene.h5")
    assert done.out.startswith("scene.h5: 10 steps in ")


# old text, new text, code, what the message says
WRONG = {
    "typo": ("spacing", "spacng", 3, ["scene.cfg:1: grid.spacng: unknown key", "nearest known key: spacing"]),
    "typo in group": ("medium:", "medum:", 3, ["scene.cfg:3: medum: unknown key", "medium"]),
    "typo in shape": ("radius", "raduis", 3, ["scene.cfg:5: p0.shapes[0].raduis: unknown key", "radius"]),
    "duplicate": ("steps = 10;", "steps = 10; steps = 12;", 3, ["scene.cfg:2:", "twice", "steps = 12"]),
    "syntax": ("steps = 10;", "steps = ;", 3, ["scene.cfg:2: syntax error"]),
    "missing semicolon": ("steps = 10; };", "steps = 10; }\nmedium2 ! 3", 3, ["scene.cfg:3:"]),
    "negative speed": ("1500.0", "-1500.0", 3,
                       ["scene.cfg:3: medium.sound_speed: must be a number > 0 m/s, got -1500"]),
    "zero density": ("1000.0", "0", 3, ["scene.cfg:3: medium.density: must be a number > 0 kg/m^3, got 0"]),
    "text for number": ("1500.0", '"fast"', 3, ["medium.sound_speed", "must be a number", 'got "fast"']),
    "number for group": ("{ size = 4; }", "4", 3, ["scene.cfg:4: pml: must be a group { ... }, got 4"]),
    "group for list": ('( { name = "a"; points = ( (5e-4, 0.0, 0.0) ); } )', "{ }", 3,
                       ["scene.cfg:6: sensors: must be a list", "got a group"]),
    "number in list": ('( { name = "a"; points = ( (5e-4, 0.0, 0.0) ); } )', "( 4 )", 3,
                       ["scene.cfg:6: sensors[0]: must be a group", "got 4"]),
    "real for integer": ("[24, 20, 18]", "[24.5, 20, 18]", 3, ["scene.cfg:1: grid.size: must be an integer", "24.5"]),
    "two sizes": ("[24, 20, 18]", "[24, 20]", 3, ["grid.size: must be three numbers", "got a list of 2"]),
    "zero size": ("[24, 20, 18]", "[24, 0, 18]", 3, ["grid.size: must be an integer from 1 to 1048576", "got 0"]),
    "one point": ("[24, 20, 18]", "1", 3, ["grid.size: at least one axis must have more than one point"]),
    "huge axis": ("[24, 20, 18]", "[4294967396, 20, 18]", 3, ["grid.size", "got 4294967396"]),
    "beyond 64 bits": ("[24, 20, 18]", "[99999999999999999999, 20, 18]", 3, ["scene.cfg:1:", "beyond 64 bits"]),
    "infinite": ("1500.0", "1e999", 3, ["scene.cfg:3: 1e999: a number beyond 1.8e308"]),
    "underflow": ("1500.0", "1e-999", 3, ["scene.cfg:3: 1e-999: a number so small"]),
    "zero spacing": ("1e-4;", "0.0;", 3, ["grid.spacing: must be a number > 0 m, got 0"]),
    "missing spacing": (" spacing = 1e-4;", "", 3, ["scene.cfg:1: grid.spacing: missing"]),
    "missing medium": (GOOD.splitlines()[2], "", 3, ["scene.cfg: medium: missing"]),
    "missing p0": (GOOD.splitlines()[4], "", 3, ["scene.cfg: p0: missing"]),
    "no sensors": (GOOD.splitlines()[5], "", 3, ["sensors: missing or empty", "p_final"]),
    "empty sensors": ('( { name = "a"; points = ( (5e-4, 0.0, 0.0) ); } )', "( )", 3, ["sensors: missing or empty"]),
    "no points": ("( (5e-4, 0.0, 0.0) )", "( )", 3, ["sensors[0].points: must have at least one point"]),
    "2-D point": ("(5e-4, 0.0, 0.0)", "(5e-4, 0.0)", 3, ["sensors[0].points: point 0 must be three numbers"]),
    "sensor in mm": ("(5e-4, 0.0, 0.0)", "(0.5, 0.0, 0.0)", 3,
                     ["scene.cfg:6: sensors[0].points: point 0 is outside the grid along x: 0.5 m", "allowed"]),
    "set without place": ("points = ( (5e-4, 0.0, 0.0) ); ", "", 3, ["sensors[0]: must give one of: points"]),
    "set without name": ('name = "a"; ', "", 3, ["sensors[0].name: missing"]),
    "same name": ('( { name = "a"; points = ( (5e-4, 0.0, 0.0) ); } )',
                  '( { name = "a"; points_index = ( (5, 5, 5) ); }, { name = "a"; points_index = ( (5, 5, 5) ); } )', 3,
                  ["sensors[1].name", '"a" twice']),
    "two places": ("points = (", "plane = { axis = \"x\"; position = 0.0; }; points = (", 3,
                   ["sensors[0].plane", "contradicts points"]),
    "interpolation": ('name = "a";', 'name = "a"; interpolation = "cubic";', 3,
                      ['sensors[0].interpolation: must be one of: nearest linear bandlimited; got "cubic"']),
    "index outside": ("points = ( (5e-4, 0.0, 0.0) )", "points_index = ( (24, 0, 0) )", 3,
                      ["sensors[0].points_index: point 0 is outside the grid along x", "index 24"]),
    "box outside": ("points = ( (5e-4, 0.0, 0.0) )", "box_index = { min = [0, 0, 0]; max = [1, 20, 1]; }", 3,
                    ["sensors[0].box_index: leaves the grid along y", "allowed: 0 to 19"]),
    "empty box": ("points = ( (5e-4, 0.0, 0.0) )", "box = { min = [0.2e-4, 0.0, 0.0]; max = [0.3e-4, 0.0, 0.0]; }", 3,
                  ["sensors[0].box: holds no grid point along x"]),
    "thick pml": ("size = 4;", "size = [4, 10, 4];", 3,
                  ["scene.cfg:4: pml.size: 2 x 10 + 1 points do not fit into the 20 points of the y axis",
                   "allowed: 0 (periodic) to 9"]),
    "default pml too thick": ("pml:    { size = 4; };\n", "", 3, ["pml.size: 2 x 20 + 1 points do not fit"]),
    "negative pml": ("size = 4;", "size = -1;", 3, ["pml.size: must be an integer from 0", "got -1"]),
    "negative alpha": ("size = 4;", "size = 4; alpha = -2.0;", 3, ["pml.alpha: must be a number >= 0"]),
    "dt and cfl": ("cfl = 0.3;", "cfl = 0.3; dt = 1e-8;", 3, ["scene.cfg:2: time.dt: contradicts cfl"]),
    "steps and duration": ("steps = 10;", "steps = 10; duration = 1e-6;", 3, ["time.duration: contradicts steps"]),
    "all three": ("cfl = 0.3; steps = 10;", "cfl = 0.3; dt = 1e-8; steps = 10; duration = 1e-6;", 3, ["contradicts"]),
    "zero cfl": ("cfl = 0.3;", "cfl = 0;", 3, ["time.cfl: must be a number > 0, got 0"]),
    "zero steps": ("steps = 10;", "steps = 0;", 3, ["time.steps: must be an integer from 1", "got 0"]),
    "endless": ("steps = 10;", "duration = 1e300;", 3, ["time: the run would have", "allowed: 1 to 2^53"]),
    "late start": ("sensors:", "record: { from_step = 10; };\nsensors:", 3,
                   ["record: from_step must be below the number of steps, 10, got 10"]),
    "negative start": ("sensors:", "record: { from_step = -1; };\nsensors:", 3, ["record.from_step", "got -1"]),
    "unknown quantity": ("sensors:", 'record: { quantities = ["pressure"]; };\nsensors:', 3,
                         ["record.quantities: must be one of: p p_max", '"pressure"']),
    "no quantity": ("sensors:", "record: { quantities = []; };\nsensors:", 3, ["record.quantities: nothing is recorded"]),
    "unknown shape": ('"ball"', '"sphere"', 3, ["p0.shapes[0].shape: must be one of: ball box", '"sphere"']),
    "shape without radius": ("radius = 4e-4; ", "", 3, ["p0.shapes[0].radius: missing"]),
    "shape without value": (" value = 1.0;", "", 3, ["p0.shapes[0].value: missing"]),
    "shape in mm": ('shape = "ball"; radius = 4e-4;', 'shape = "ball"; center = [5.0, 0.0, 0.0]; radius = 0.4;', 3,
                    ["scene.cfg:5: p0.shapes[0]: the shape touches no grid point", "metres"]),
    "tiny shape": ("radius = 4e-4;", "center = [5e-5, 5e-5, 5e-5]; radius = 4e-5;", 3, ["touches no grid point"]),
    "radius twice": ("radius = 4e-4;", "radius = 4e-4; radius_index = 4;", 3, ["radius_index: contradicts radius"]),
    "radius_index, uneven": ("spacing = 1e-4", "spacing = [1e-4, 2e-4, 1e-4]", 0, []),
    "region without value": ("density = 1000.0;", 'density = 1000.0; regions = ( { shape = "ball"; radius = 1e-3; } );',
                             3, ["medium.regions[0]: must give at least one of: sound_speed density"]),
    "null normal": ("density = 1000.0;", 'density = 1000.0; regions = ( { shape = "halfspace"; normal = [0, 0, 0]; '
                    'density = 2.0; } );', 3, ["medium.regions[0].normal: must not be [0, 0, 0]"]),
    "huge p0": ("value = 1.0", "value = 1e300", 3, ["p0.shapes[0].value: must be a number from -1e+30 to 1e+30 Pa"]),
    "p0 empty group": ('{ shapes = ( { shape = "ball"; radius = 4e-4; value = 1.0; } ); }', "{ }", 3,
                       ["p0: must give shapes, or file and dataset"]),
    "file without dataset": ("1500.0", '{ file = "maps.h5"; }', 3, ["medium.sound_speed.dataset: missing"]),
    "missing map": ("1500.0", '{ file = "none.h5"; dataset = "/c"; }', 3,
                    ["scene.cfg:3: medium.sound_speed.file", "none.h5", "No such file"]),
    "map is a folder": ("1500.0", '{ file = "."; dataset = "/c"; }', 3, ["not a regular file"]),
    "map is the scene": ("1500.0", '{ file = "scene.cfg"; dataset = "/c"; }', 3, ["is not an HDF5 file"]),
    "missing include": (GOOD.splitlines()[0], '@include "none.cfg"', 3,
                        ["scene.cfg:1: @include:", "none.cfg", "No such file"]),
    "cyclic include": (GOOD.splitlines()[0], '@include "scene.cfg"', 3, ["scene.cfg:1:", "includes itself"]),
    "malformed include": (GOOD.splitlines()[0], "@include none.cfg", 3, ['write @include "file"']),
    "open text": ('"ball"', '"ball', 3, ["scene.cfg:5:", "does not end"]),
    "open comment": ("time:", "/* time:", 3, ["scene.cfg:2:", "this comment does not end"]),
    "bad wisdom": ("pml:", "cpu: { wisdom = 1; };\npml:", 3, ["cpu.wisdom: must be true or false, got 1"]),
    "empty output": ("pml:", 'output: { file = ""; };\npml:', 3, ["output.file: must be text in quotes, not empty"]),
    "unstable dt": ("density = 1000.0;", "density = 1000.0; reference_speed = 500.0;", 0, []),
    "too large dt": ("cfl = 0.3;", "cfl = 3.0;", 0, []),
    "above the limit": ("cfl = 0.3; steps = 10; };\nmedium: { sound_speed = 1500.0;",
                        "cfl = 1.0; steps = 10; };\nmedium: { sound_speed = 1500.0; reference_speed = 500.0;", 3,
                        ["above the stability limit", "time.allow_unstable", "cfl <="]),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_scene(shop, name):
    old, new, code, messages = WRONG[name]
    done = shop.try_run(change(old, new))
    assert done.code == code, done.err
    for message in messages:
        assert message in done.err
    if code != 0:
        assert done.err.startswith("kwsim: ") and done.out == "" and no_output(shop.folder)


def test_there_are_enough_wrong_scenes():
    assert sum(code != 0 for _, _, code, _ in WRONG.values()) >= 60


# ---- files ----

def with_map(quantity, array, dataset="/c"):
    def prepare(shop):
        with h5py.File(shop.folder / "maps.h5", "w") as file:
            file["c"] = array
        value = '{ file = "maps.h5"; dataset = "%s"; }' % dataset
        return change({"c": "1500.0", "rho": "1000.0"}[quantity], value) if quantity != "p0" else change(
            '{ shapes = ( { shape = "ball"; radius = 4e-4; value = 1.0; } ); }', value)
    return prepare


def spoiled(value, at=(3, 4, 5)):
    array = np.full((24, 20, 18), 1500.0)
    array[at] = value
    return array


@pytest.mark.parametrize("quantity, array, dataset, messages", [
    ("c", np.ones((24, 20, 17)), "/c", ["shape of the grid, 24 x 20 x 18, got 24 x 20 x 17"]),
    ("c", np.ones((18, 20, 24)), "/c", ["got 18 x 20 x 24"]),
    ("c", np.ones(24 * 20 * 18), "/c", ["got 8640"]),
    ("c", 1500.0, "/c", ["got a single number"]),
    ("c", np.ones((1, 1, 24, 20, 18)), "/c", ["has 5 dimensions"]),
    ("c", np.array([b"a", b"b"]), "/c", ["does not hold numbers"]),
    ("c", np.ones((24, 20, 18)), "/d", ['there is no dataset "/d"']),
    ("c", spoiled(np.nan), "/c", ["medium.sound_speed: must be finite", "got nan at grid point (3, 4, 5)"]),
    ("c", spoiled(np.inf), "/c", ["must be finite", "got inf at grid point (3, 4, 5)"]),
    ("c", spoiled(-3.0), "/c", ["must be > 0 m/s, got -3 at grid point (3, 4, 5)"]),
    ("rho", spoiled(0.0), "/c", ["medium.density: must be > 0 kg/m^3, got 0 at grid point (3, 4, 5)"]),
    ("p0", spoiled(np.nan), "/c", ["p0: must be finite everywhere, got nan at grid point (3, 4, 5)"]),
])
def test_wrong_map(shop, quantity, array, dataset, messages):
    done = shop.try_run(with_map(quantity, array, dataset)(shop))
    assert done.code == 3 and no_output(shop.folder)
    for message in messages:
        assert message in done.err


@pytest.mark.parametrize("keep", [4, 600, 0.5, 0.9])
def test_truncated_map(shop, keep):
    scene = with_map("c", np.random.default_rng(1).random((24, 20, 18)) + 1500)(shop)
    path = shop.folder / "maps.h5"
    data = path.read_bytes()
    path.write_bytes(data[:keep if keep > 1 else int(len(data) * keep)])
    done = shop.try_run(scene)
    assert done.code == 3 and "maps.h5" in done.err and "scene.cfg:3: medium.sound_speed" in done.err
    assert no_output(shop.folder)


@pytest.mark.parametrize("array, message", [
    (np.zeros((4, 2), int), "must be points x 3 (x, y, z of each), got 4 x 2"), (np.zeros((0, 3), int), "got 0 x 3"),
    (np.zeros((4, 3)), "must hold integers"), (np.array([[0, 0, 0], [0, 0, 18]]), "point 1 is outside the grid along z"),
    (np.array([[-1, 0, 0]]), "point 0 is outside the grid along x"), (np.zeros(3, int), "got 3")])
def test_wrong_index_list(shop, array, message):
    with h5py.File(shop.folder / "maps.h5", "w") as file:
        file["i"] = array
    done = shop.try_run(change("points = ( (5e-4, 0.0, 0.0) )", 'points_index = { file = "maps.h5"; dataset = "/i"; }'))
    assert done.code == 3 and message in done.err and no_output(shop.folder)


def test_sensor_at_nan(shop):
    with h5py.File(shop.folder / "maps.h5", "w") as file:
        file["x"] = np.array([[0.0, 0.0, 0.0], [0.0, np.nan, 0.0]])
    done = shop.try_run(change("points = ( (5e-4, 0.0, 0.0) )", 'points = { file = "maps.h5"; dataset = "/x"; }'))
    assert done.code == 3 and "must be finite, got nan in row 1" in done.err


def test_binary_file_as_scene(shop):
    shop.maps(c=np.ones(3))
    done = run_program(["maps.h5"], shop.folder)
    assert done.code == 3 and "no k-Wave input, and no scene" in done.err


def test_missing_scene_and_folder_as_scene(shop):
    done = run_program(["none.cfg"], shop.folder)
    assert done.code == 3 and 'cannot read "none.cfg": No such file or directory' in done.err
    assert run_program(["."], shop.folder).code == 3


# ---- sizes ----

@pytest.mark.parametrize("size", [[4096, 4096, 4096], [1048576, 1048576, 1048576]])
def test_too_large_is_refused_at_once_with_the_estimate(shop, size):
    scene = change("[24, 20, 18]", str(size))
    for arguments in ([], ["--dry-run"]):
        done = shop.try_run(scene, *arguments, timeout=2)
        assert done.code == 4 and "the run needs" in done.err and "TB" in done.err and "free" in done.err
        assert "sensors" in done.err and "coarser grid" in done.err and no_output(shop.folder)


def test_out_of_address_space_is_a_clean_error(shop):
    """Memory that is free by the books but is not given."""
    shop.write(change("[24, 20, 18]", "[256, 256, 256]"))
    limit = 600 << 20
    done = subprocess.run([BINARY, "scene.cfg", "--backend", "cpu"], cwd=shop.folder, capture_output=True, env=ENVIRONMENT,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    if b"Sanitizer" in done.stderr:
        pytest.skip("the sanitizer needs the address space for itself")
    assert done.returncode == 4 and b"memory" in done.stderr and no_output(shop.folder)


# ---- command line ----

@pytest.mark.parametrize("arguments, code, message", [
    ([], 2, "no scene is given"),
    (["a.cfg", "b.cfg"], 2, "one scene at a time"),
    (["scene.cfg", "-o", ""], 2, "must not be empty"),
    (["scene.cfg", "--set", "time.cfl.=3"], 2, "the key is not a path"),
    (["scene.cfg", "--set", "p0.shapes[0]radius=3"], 2, "the key is not a path"),
    (["scene.cfg", "--set", "p0.shapes[0].=3"], 2, "the key is not a path"),
    (["scene.cfg", "--set", "p0.shapes[0]={ shape = \"ball\"; radius = 4e-4; }"], 3, "--set p0.shapes[0]={"),
    (["scene.cfg", "--unknown"], 2, "unrecognized option '--unknown'"),
    (["scene.cfg", "--backend", "opencl"], 2, 'must be one of: auto cpu cuda; got "opencl"'),
    (["scene.cfg", "--precision", "half"], 2, 'must be single or double, got "half"'),
    (["scene.cfg", "--threads", "0"], 2, 'must be an integer from 1 to 1024, got "0"'),
    (["scene.cfg", "--threads", "two"], 2, 'got "two"'),
    (["scene.cfg", "--steps", "0"], 2, "--steps: must be an integer from 1"),
    (["scene.cfg", "--steps", "1.5"], 2, 'got "1.5"'),
    (["scene.cfg", "--steps", "99999999999999999999"], 2, "--steps"),
    (["scene.cfg", "--set", "time.cfl"], 2, "there is no ="),
    (["scene.cfg", "--set", "=3"], 2, "the key is not a path"),
    (["scene.cfg", "--set", "time..cfl=3"], 2, "the key is not a path"),
    (["scene.cfg", "--set", "time.cfl.x=3"], 2, "a key on the way is not a group"),
    (["scene.cfg", "--set", "sensors[7].name=b"], 2, "no list with such an element"),
    (["scene.cfg", "--set", "time.cfl=(0.3"], 2, "the value is not"),
    (["scene.cfg", "--set", "time.cfl=0.3; steps = 4"], 2, "the value is not"),
    (["scene.cfg", "--set", "time.cfl=-1"], 3, "--set time.cfl=-1: time.cfl: must be a number > 0, got -1"),
    (["scene.cfg", "--set", "time.clf=0.1"], 3, "--set time.clf=0.1: time.clf: unknown key; nearest known key: cfl"),
    (["scene.cfg", "--set", "tme.cfl=0.1"], 3, "tme: unknown key; nearest known key: time"),
    (["scene.cfg", "--set", "grid.size=[4294967396, 1, 1]"], 3, "got 4294967396"),
    (["scene.cfg", "--set", "time.cfl=1e999"], 3, "beyond 1.8e308"),
    (["scene.cfg", "--set", "p0.shapes[0].radius=-1"], 3, "p0.shapes[0].radius: must be a number > 0 m, got -1"),
])
def test_wrong_command_line(shop, arguments, code, message):
    shop.write(GOOD)
    done = run_program(arguments, shop.folder)
    assert done.code == code and message in done.err, done.err
    assert no_output(shop.folder)


def test_cuda_without_cuda_or_without_a_gpu_says_so(shop):
    shop.write(GOOD)
    done = run_program(["scene.cfg", "--backend", "cuda"], shop.folder)
    if done.code == 0:
        pytest.skip("there is a GPU here")
    assert done.code == 4 and "--backend cpu" in done.err and no_output(shop.folder)


def test_help_version_and_backends(shop):
    done = run_program(["--help"], shop.folder)
    assert done.code == 0 and "--set=KEY=VALUE" in done.out and "Exit codes" in done.out
    done = run_program(["--version"], shop.folder)
    assert done.code == 0 and done.out.startswith("kwsim ") and "fftw" in done.out
    done = run_program(["--list-backends"], shop.folder)
    assert done.code == 0 and "cpu " in done.out and "cuda " in done.out and "usable" in done.out


# ---- outputs that cannot be ----

def test_existing_output_is_kept_without_force(shop):
    (shop.folder / "scene.h5").write_text("precious")
    done = shop.try_run(GOOD)
    assert done.code == 1 and '"scene.h5" exists' in done.err and "--force" in done.err
    assert (shop.folder / "scene.h5").read_text() == "precious"
    assert shop.try_run(GOOD, "--force").code == 0
    assert read_output(shop.folder / "scene.h5").attributes["status"] == "complete"


def test_force_forces_nothing_but_the_output(shop):
    done = shop.try_run(change("1500.0", "-1500.0"), "--force")
    assert done.code == 3
    done = shop.try_run(change("[24, 20, 18]", "4096"), "--force")
    assert done.code == 4


def test_part_of_another_run_is_kept(shop):
    (shop.folder / "scene.h5.part").write_text("precious")
    done = shop.try_run(GOOD)
    assert done.code == 1 and "did not finish" in done.err
    assert (shop.folder / "scene.h5.part").read_text() == "precious"


def test_output_into_a_missing_folder(shop):
    done = shop.try_run(GOOD, "-o", "none/out.h5")
    assert done.code == 1 and "none/out.h5.part" in done.err and "No such file" in done.err


def test_output_into_an_unwritable_folder(shop):
    locked = shop.folder / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    if os.geteuid() == 0:
        locked = "/proc/1"  # not even root may write there
    done = shop.try_run(GOOD, "-o", "%s/out.h5" % locked)
    assert done.code == 1 and "cannot write" in done.err


def test_output_to_a_device(shop):
    done = shop.try_run(GOOD, "-o", "/dev/full", "--force")
    assert done.code == 1 and "not a regular file" in done.err
    assert os.path.exists("/dev/full") and not os.path.exists("/dev/full.part")


def small_disk(tmp_path, kilobytes):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dk" % kilobytes, "tmpfs", str(disk)],
                             capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("mounting a small tmpfs needs root with that right")
    return disk


@pytest.mark.parametrize("kilobytes, steps", [(8, 10), (200, 4000), (64, 4000)])
def test_full_disk(shop, tmp_path, kilobytes, steps):
    disk = small_disk(tmp_path, kilobytes)
    try:
        scene = change("( (5e-4, 0.0, 0.0) )", "( " + ", ".join(["(5e-4, 0.0, 0.0)"] * 50) + " )")
        done = shop.try_run(scene, "--steps", steps, "-o", disk / "out.h5")
        assert done.code == 1 and "No space left on device" in done.err, done.err
        assert os.listdir(disk) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_full_file_system_by_quota(shop):
    """The same without root: a limit on the size of files."""
    scene = change("( (5e-4, 0.0, 0.0) )", "( " + ", ".join(["(5e-4, 0.0, 0.0)"] * 50) + " )")
    shop.write(scene)

    def limit():
        import signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    done = subprocess.run([BINARY, "scene.cfg", "--backend", "cpu", "--steps", "4000", "--set", "cpu.wisdom=false"],
                          cwd=shop.folder, capture_output=True, env=ENVIRONMENT, preexec_fn=limit)
    assert done.returncode == 1 and b"File too large" in done.stderr and no_output(shop.folder)


# ---- odd, but right ----

def same_result(shop, scene, *arguments, folder_name=None):
    one = shop.run(GOOD, "--steps", 10)
    two = shop.run(scene, *arguments, output="two.h5")
    return relative_error(two.p, one.p) == 0


def test_byte_order_mark_crlf_and_comments(shop):
    text = "# Maße in m: größer als λ/2\n" + GOOD + "// end\n/* two\nlines */\n"
    (shop.folder / "bom.cfg").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert shop.run(GOOD).p.shape == (1, 10)
    done = run_program(["bom.cfg", "--backend", "cpu", "-o", "bom.h5", "--precision", "double"], shop.folder)
    assert done.code == 0, done.err
    assert (read_output(shop.folder / "bom.h5").p == read_output(shop.folder / "out.h5").p).all()


def test_line_numbers_survive_crlf_comments_and_includes(shop):
    (shop.folder / "part.cfg").write_text("# one\n\ntime: { cfl = 0.3; steps = -2; };\n")
    done = shop.try_run(change(GOOD.splitlines()[1], '/* a\nb */ \n@include "part.cfg"'))
    assert done.code == 3 and "part.cfg:3: time.steps" in done.err
    done = shop.try_run(("/* a\nb */\n" + change("1500.0", "-1500.0")).replace("\n", "\r\n"))
    assert done.code == 3 and "scene.cfg:5: medium.sound_speed" in done.err


def test_include_and_nested_include(shop):
    lines = GOOD.splitlines(True)
    (shop.folder / "sub").mkdir()
    (shop.folder / "sub" / "a.cfg").write_text(lines[0] + '@include "b.cfg"\n')
    (shop.folder / "sub" / "b.cfg").write_text(lines[1])
    assert same_result(shop, '@include "sub/a.cfg"\n' + "".join(lines[2:]))


def test_cycle_through_another_file(shop):
    (shop.folder / "a.cfg").write_text('@include "scene.cfg"\n')
    done = shop.try_run('@include "a.cfg"\n' + GOOD)
    assert done.code == 3 and "a.cfg:1:" in done.err and "includes itself" in done.err


def test_mixed_types_and_brackets_in_arrays(shop):
    assert same_result(shop, change("(5e-4, 0.0, 0.0)", "[5e-4, 0, 0]"))
    assert same_result(shop, change("radius = 4e-4;", "center = [0, 0.0, 0e0]; radius = 4e-4;"))


def test_integers_for_reals_and_one_for_three(shop):
    assert same_result(shop, change("1500.0", "1500").replace("1000.0", "1000").replace("size = 4;", "size = [4, 4, 4];"))


def test_integers_beyond_32_bits_are_read_whole(shop):
    done = shop.try_run(GOOD, "--set", "time.steps=4294967396", "--dry-run")
    assert done.code == 0 and "4294967396 steps" in done.out


def test_index_keys_are_grid_points(shop):
    assert same_result(shop, change("radius = 4e-4", "center_index = [12, 10, 9]; radius_index = 4"))
    assert same_result(shop, change("points = ( (5e-4, 0.0, 0.0) )", "points_index = ( (17, 10, 9) )"))


def test_radius_index_needs_equal_spacing(shop):
    scene = change("spacing = 1e-4", "spacing = [1e-4, 2e-4, 1e-4]").replace("radius = 4e-4", "radius_index = 4")
    done = shop.try_run(scene)
    assert done.code == 3 and "radius_index: the spacing differs between the axes" in done.err


def test_set_overrides_any_key(shop):
    assert same_result(shop, change("1500.0", "1400.0").replace("4e-4", "3e-4"), "--set", "medium.sound_speed=1500",
                       "--set", "p0.shapes[0].radius=4e-4")
    assert same_result(shop, change("pml:    { size = 4; };\n", ""), "--set", "pml.size=[4,4,4]")
    assert same_result(shop, change("(5e-4, 0.0, 0.0)", "(0.0, 0.0, 0.0)"), "--set", "sensors[0].points[0]=(5e-4,0,0)")
    assert same_result(shop, change("steps = 10", "duration = 1.0"), "--steps", "10")
    shop.try_run(GOOD, "--set", "output.file=bare_word.h5", "--set", 'record.quantities=["p"]')
    assert os.path.exists(shop.folder / "bare_word.h5")


def test_spaces_and_non_ascii_paths(tmp_path):
    folder = tmp_path / "größe 1 (µm)"
    folder.mkdir()
    shop = Workshop(folder)
    shop.maps(c=np.full((24, 20, 18), 1500.0))
    shop.write(change("1500.0", '{ file = "maps.h5"; dataset = "/c"; }'), "mein Bild.cfg")
    done = run_program([folder / "mein Bild.cfg", "--backend", "cpu"], tmp_path)
    assert done.code == 0, done.err
    assert os.path.exists(tmp_path / "mein Bild.h5")  # outputs are relative to the current folder


def test_maps_are_found_relative_to_the_scene(shop):
    (shop.folder / "scenes").mkdir()
    inner = Workshop(shop.folder / "scenes")
    inner.maps(c=np.full((24, 20, 18), 1500.0))
    inner.write(change("1500.0", '{ file = "maps.h5"; dataset = "/c"; }'))
    assert run_program(["scenes/scene.cfg", "--backend", "cpu"], shop.folder).code == 0


def test_shapes_are_painted_in_order(shop):
    scene = periodic([24, 20, 18], time={"cfl": 0.3, "steps": 1}, p0={"shapes": [
        {"shape": "halfspace", "point_index": [12, 0, 0], "normal": [1, 0, 0], "value": 1.0},
        {"shape": "box", "center_index": [12, 10, 9], "size_index": [4, 4, 4], "value": 2.0},
        {"shape": "cylinder", "center_index": [12, 10, 9], "direction": [0, 0, 2], "radius_index": 1,
         "length_index": 40, "value": 3.0},
        {"shape": "ellipsoid", "center_index": [4, 10, 9], "radii_index": [1, 2, 3], "value": 4.0},
        {"shape": "gaussian", "center_index": [20, 10, 9], "sigma_index": 1, "value": 5.0}]})
    p = shop.run(scene).p_final
    x, y, z = np.meshgrid(*(np.arange(n) for n in (24, 20, 18)), indexing="ij")
    wanted = np.where(x >= 12, 1.0, 0.0)
    wanted[(abs(x - 12) <= 2) & (abs(y - 10) <= 2) & (abs(z - 9) <= 2)] = 2
    wanted[(x - 12)**2 + (y - 10)**2 <= 1] = 3
    wanted[(x - 4)**2 + ((y - 10) / 2)**2 + ((z - 9) / 3)**2 <= 1 + 1e-9] = 4
    w = np.exp(-((x - 20)**2 + (y - 10)**2 + (z - 9)**2) / 2.0)
    wanted += (5 - wanted) * w
    assert np.abs(p - wanted).max() < 1e-12


def test_ball_of_ten_points_has_its_poles(shop):
    """A point on the surface is inside, whatever the rounding of 10 x 1e-4 against 1e-3."""
    scene = periodic([32, 32, 32], time={"cfl": 0.3, "steps": 1},
                     p0={"shapes": [{"shape": "ball", "radius": 1e-3, "value": 1.0}]})
    p = shop.run(scene).p_final
    i = np.arange(32) - 16
    inside = i[:, None, None]**2 + i[None, :, None]**2 + i[None, None, :]**2 <= 100
    assert (p == inside).all()


def test_unusual_media_are_warned_of(shop):
    done = shop.try_run(change("1500.0", "1.5"))  # km/s for m/s
    assert done.code == 0 and "warning" in done.err and "sound speed 1.5 m/s" in done.err and "unit" in done.err
    done = shop.try_run(change("1000.0", "0.1"), "--force")
    assert done.code == 0 and "density 0.1 kg/m^3" in done.err


def test_stray_slow_voxel_is_named(shop):
    array = np.full((24, 20, 18), 1500.0)
    array[5, 6, 7] = 168.0
    done = shop.try_run(with_map("c", array)(shop))
    assert done.code == 0 and "(5, 6, 7)" in done.err and "warning" in done.err
    assert "up to 0.84 MHz" in done.err


def test_slow_sizes_are_named_with_a_better_one(shop):
    done = shop.try_run(change("[24, 20, 18]", "[97, 20, 18]"))
    assert done.code == 0 and "97 points along x have the prime factor 97" in done.err and "98" in done.err


def test_periodic_axes_and_sensors_in_the_pml_are_said(shop):
    done = shop.try_run(change("size = 4;", "size = [4, 0, 4];"))
    assert done.code == 0 and "y is periodic" in done.err
    done = shop.try_run(change("(5e-4, 0.0, 0.0)", "(-11e-4, 0.0, 0.0)"), "--force")
    assert "1 of 1 sensor points lie in the PML" in done.err


def test_zero_p0_is_warned_of(shop):
    done = shop.try_run(change("value = 1.0", "value = 0"))
    assert done.code == 0 and "0 everywhere" in done.err


# ---- what an independent review found ----

def test_comment_before_an_include_does_not_hide_it(shop):
    """The include is expanded by us, with its 64-bit integers, not by libconfig, which would wrap them."""
    (shop.folder / "evil.cfg").write_text("grid: { size = [4294967320, 20, 18]; spacing = 1e-4; };")
    done = shop.try_run("/* c */ @include \"evil.cfg\"\n" + "".join(GOOD.splitlines(True)[1:]))
    assert done.code == 3 and "got 4294967320" in done.err
    done = shop.try_run("time: { @include \"evil.cfg\"\n };")
    assert done.code == 3 and "@ begins only an @include" in done.err


@pytest.mark.parametrize("text, message", [(b"name = \"\xff\"; ", "not UTF-8"), (b"name = \"x\\x00y\"; ", "zero byte")])
def test_text_that_cannot_be_kept(shop, text, message):
    (shop.folder / "scene.cfg").write_bytes(GOOD.encode().replace(b'name = "a"; ', text))
    done = run_program(["scene.cfg", "--backend", "cpu"], shop.folder)
    assert done.code == 3 and message in done.err and "scene.cfg:6" in done.err


def test_words_of_any_script_for_text_keys(shop):
    for name in ("über.h5", "2d.h5", "a b.h5"):
        done = shop.try_run(GOOD, "--set", "output.file=" + name)
        assert done.code == 0 and os.path.exists(shop.folder / name), done.err


def test_lines_survive_an_override_beside_them(shop):
    scene = change("value = 1.0; }", 'value = 1.0; },\n { shape = "ball"; radius = -1.0; value = 1.0; }')
    done = shop.try_run(scene, "--set", 'p0.shapes[0]={ shape = "ball"; radius = 3e-4; value = 1.0; }')
    assert done.code == 3 and "scene.cfg:6: p0.shapes[1].radius" in done.err


def test_a_file_of_absurdly_many_sensors_is_refused(shop):
    with h5py.File(shop.folder / "maps.h5", "w") as file:
        file.create_dataset("i", (2**61, 3), chunks=(1024, 3), dtype="i1")
    done = shop.try_run(change("points = ( (5e-4, 0.0, 0.0) )", 'points_index = { file = "maps.h5"; dataset = "/i"; }'))
    assert done.code == 4 and "the listed points need" in done.err


def test_absurdly_many_source_points_or_samples_are_refused(shop):
    box = 'sources: ( { quantity = "p"; signal = ( 1.0 ); box_index = { min = [0, 0, 0]; max = [932360, 951663, 866244]; }; } );\n'
    scene = change("[24, 20, 18]", "[932361, 951664, 866245]").replace("pml:", box + "pml:")
    done = shop.try_run(scene, "--dry-run")
    assert done.code == 4 and "the sources' points need" in done.err
    with h5py.File(shop.folder / "maps.h5", "w") as file:
        file.create_dataset("s", (1, 2**60), chunks=(1, 1024), dtype="i1")
    source = SOURCE.replace("( 0.0, 1.0, 2.0 )", '{ file = "maps.h5"; dataset = "/s"; }')
    done = shop.try_run(change("pml:", source + "pml:"))
    assert done.code == 4 and "the sources' signals need" in done.err
    source = SOURCE.replace("( 0.0, 1.0, 2.0 )", '{ type = "continuous"; amplitude = 1.0; frequency = 1e6; }')
    done = shop.try_run(change("pml:", source + "pml:"), "--steps", str(10**14))
    assert done.code == 4 and "sources 800.00 TB" in done.err and no_output(shop.folder)


def test_maps_count_before_they_are_read(shop):
    """The refusal knows of maps whose voxels nobody has looked at yet."""
    region = 'density = 1000.0; regions = ( { shape = "halfspace"; normal = [1, 0, 0]; sound_speed = 1600.0; density = 1100.0; } );'
    plain = shop.try_run(change("[24, 20, 18]", "4096"))
    maps = shop.try_run(change("[24, 20, 18]", "4096").replace("density = 1000.0;", region))
    need = [float(done.err.split("the run needs ")[1].split(" TB")[0]) for done in (plain, maps)]
    assert need[1] > need[0] * 1.15 and "medium maps" in maps.err


@pytest.mark.parametrize("output", ["scene.cfg", "maps.h5", "part.cfg"])
def test_force_never_replaces_what_the_scene_reads(shop, output):
    (shop.folder / "part.cfg").write_text(GOOD.splitlines()[0])
    shop.maps(c=np.full((24, 20, 18), 1500.0))
    scene = GOOD.replace(GOOD.splitlines()[0], '@include "part.cfg"').replace("1500.0", '{ file = "maps.h5"; dataset = "/c"; }')
    shop.write(scene)
    before = (shop.folder / output).read_bytes()
    done = run_program(["scene.cfg", "--backend", "cpu", "-o", output, "--force"], shop.folder)
    assert done.code == 2 and "which is read" in done.err
    assert (shop.folder / output).read_bytes() == before


def test_many_steps_cost_no_disk_before_they_run(shop):
    shop.write(GOOD)
    run = subprocess.Popen([BINARY, "scene.cfg", "--backend", "cpu", "--steps", "9000000000000000"], cwd=shop.folder, env=ENVIRONMENT,
                           stderr=subprocess.PIPE)
    import signal
    import time
    for _ in range(300):  # until it steps
        time.sleep(0.1)
        if (shop.folder / "scene.h5.part").exists():
            break
    time.sleep(1.0)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=20)
    assert run.returncode == 130
    result = read_output(shop.folder / "scene.h5.part")
    assert result.p.shape[1] == len(result.time) == result.attributes["steps_done"] > 0
    assert os.path.getsize(shop.folder / "scene.h5.part") < 10e6


def test_values_beyond_single_precision_are_refused(shop):
    array = np.zeros((24, 20, 18))
    array[3, 4, 5] = 1e39
    done = shop.try_run(with_map("p0", array)(shop))
    assert done.code == 3 and "must be from -1e+30 to 1e+30 Pa" in done.err
    done = shop.try_run(change("1500.0", "1e20"))
    assert done.code == 3 and "must be from 1e-06 to 1e+09 m/s" in done.err
    done = shop.try_run(change("cfl = 0.3", "cfl = 1e308"))
    assert done.code == 3 and "time step" in done.err


def test_huge_box_of_sensors_is_an_estimate_not_an_overflow(shop):
    scene = change("[24, 20, 18]", "1048576").replace("size = 4;", "size = 0;").replace(
        "points = ( (5e-4, 0.0, 0.0) )", "box_index = { min = [0, 0, 0]; max = [1048575, 1048575, 1048575]; }")
    done = shop.try_run(scene, "--dry-run", "--precision", "double")
    assert done.code == 4 and "the run needs" in done.err


def test_density_steps_at_large_cfl_are_judged(shop):
    scene = change("density = 1000.0;", 'density = 1000.0; regions = ( { shape = "halfspace"; normal = [1, 0, 0]; density = 6.6; } );')
    done = shop.try_run(scene.replace("cfl = 0.3", "cfl = 0.5"))
    assert done.code == 3 and "makes the run unstable at CFL 0.5: the largest eigenvalue" in done.err


def test_unwritable_standard_output_is_said(shop):
    shop.write(GOOD)
    with open("/dev/full", "w") as full:
        done = subprocess.run([BINARY, "scene.cfg", "--backend", "cpu", "-q"], cwd=shop.folder, env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 1 and b"cannot write to standard output; the run itself is complete" in done.stderr
        done = subprocess.run([BINARY, "--list-backends"], env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 1 and b"standard output" in done.stderr


def test_interrupt_during_set_up(shop):
    import signal
    import time
    shop.write(change("[24, 20, 18]", "420").replace("density = 1000.0;", 'density = 1000.0; regions = ( { shape = "gaussian"; sigma = 2e-2; sound_speed = 1600.0; } );'))
    run = subprocess.Popen([BINARY, "scene.cfg", "--backend", "cpu"], cwd=shop.folder, env=ENVIRONMENT, stderr=subprocess.PIPE)
    time.sleep(0.7)
    start = time.time()
    run.send_signal(signal.SIGINT)
    err = run.communicate(timeout=30)[1]
    assert run.returncode == 130 and time.time() - start < 2 and b"interrupted before the first step" in err
    assert no_output(shop.folder)


def test_output_folder_that_vanishes(shop):
    import shutil
    import time
    (shop.folder / "gone").mkdir()
    shop.write(change("[24, 20, 18]", "48"))
    run = subprocess.Popen([BINARY, "scene.cfg", "--backend", "cpu", "-o", "gone/x.h5", "--steps", "500"], cwd=shop.folder, env=ENVIRONMENT,
                           stderr=subprocess.PIPE)
    while not (shop.folder / "gone" / "x.h5.part").exists():
        time.sleep(0.01)
    time.sleep(0.4)
    shutil.rmtree(shop.folder / "gone")
    err = run.communicate(timeout=120)[1]
    assert run.returncode == 1 and (b"the results are lost" in err or b"cannot write" in err)  # as far as it had come


# ---- absorption, nonlinearity, sources ----

SOURCE = 'sources: ( { quantity = "p"; points = ( (5e-4, 0.0, 0.0) ); signal = ( 0.0, 1.0, 2.0 ); } );\n'
WRONG_PHYSICS = {
    "no power": ("density = 1000.0;", "density = 1000.0; absorption: { coefficient = 0.5; };", ["medium.absorption.power: missing"]),
    "power 0": ("density = 1000.0;", "density = 1000.0; absorption: { coefficient = 0.5; power = 0; };", ["absorption.power: must be a number > 0"]),
    "power -1": ("density = 1000.0;", "density = 1000.0; absorption: { coefficient = 0.5; power = -1; };", ["absorption.power", "got -1"]),
    "power 3": ("density = 1000.0;", "density = 1000.0; absorption: { coefficient = 0.5; power = 3.0; };", ["absorption.power: must be a number in (0, 3), got 3"]),
    "power list": ("density = 1000.0;", "density = 1000.0; absorption: { coefficient = 0.5; power = [1, 2]; };", ["absorption.power", "got a list of 2"]),
    "power map": ("density = 1000.0;", 'density = 1000.0; absorption: { coefficient = 0.5; power = { file = "m.h5"; dataset = "y"; }; };', ["absorption.power", "got a group"]),
    "power 1": ("density = 1000.0;", "density = 1000.0; absorption: { coefficient = 0.5; power = 1.0; };", ["must not be 1 with dispersion", "dispersion = false"]),
    "negative alpha": ("density = 1000.0;", "density = 1000.0; absorption: { coefficient = -0.5; power = 1.5; };", ["absorption.coefficient: must be a number >= 0"]),
    "unstable alpha": ("density = 1000.0;", "density = 1000.0; absorption: { coefficient = 0.75; power = 1.001; };", ["stability criterion", "coefficient up to", "dispersion = false"]),
    "region without absorption": ("density = 1000.0;", 'density = 1000.0; regions = ( { shape = "ball"; radius = 1e-3; absorption_coefficient = 1.0; } );', ["absorption_coefficient: needs medium.absorption"]),
    "region without nonlinearity": ("density = 1000.0;", 'density = 1000.0; regions = ( { shape = "ball"; radius = 1e-3; nonlinearity = 1.0; } );', ["nonlinearity: needs medium.nonlinearity"]),
    "negative B/A": ("density = 1000.0;", "density = 1000.0; nonlinearity = -1;", ["medium.nonlinearity: must be a number >= 0"]),
    "source quantity": ("pml:", SOURCE.replace('"p"', '"v"') + "pml:", ["sources[0].quantity: must be one of: p ux uy uz"]),
    "source mode": ("pml:", SOURCE.replace('"p";', '"p"; mode = "add";') + "pml:", ["sources[0].mode: must be one of: additive"]),
    "source without signal": ("pml:", SOURCE.replace("signal = ( 0.0, 1.0, 2.0 ); ", "") + "pml:", ["sources[0].signal: missing"]),
    "source empty signal": ("pml:", SOURCE.replace("( 0.0, 1.0, 2.0 )", "( )") + "pml:", ["sources[0].signal: must have at least one number"]),
    "source text signal": ("pml:", SOURCE.replace("1.0, 2.0", '"a"') + "pml:", ["sources[0].signal", 'got "a"']),
    "source without place": ("pml:", SOURCE.replace("points = ( (5e-4, 0.0, 0.0) ); ", "") + "pml:", ["sources[0]: must give one of: points"]),
    "source outside": ("pml:", SOURCE.replace("5e-4", "5e-1") + "pml:", ["sources[0].points: point 0 is outside the grid"]),
    "additive after": ("pml:", SOURCE.replace('"p";', '"p"; after = "hold";') + "pml:", ["sources[0].after", "dirichlet"]),
    "source typo": ("pml:", SOURCE.replace("signal", "signl") + "pml:", ["sources[0].signl: unknown key; nearest known key: signal"]),
}


@pytest.mark.parametrize("name", WRONG_PHYSICS)
def test_wrong_physics(shop, name):
    old, new, messages = WRONG_PHYSICS[name]
    done = shop.try_run(change(old, new))
    assert done.code == 3 and done.out == "" and no_output(shop.folder), done.err
    for message in messages:
        assert message in done.err


def test_velocity_source_along_a_flat_axis(shop):
    scene = change("[24, 20, 18]", "[24, 20, 1]").replace("pml:", SOURCE.replace('"p"', '"uz"') + "pml:")
    done = shop.try_run(scene)
    assert done.code == 3 and "must not point along the z axis" in done.err


@pytest.mark.parametrize("signal, message", [
    (np.zeros((2, 5)), "got 2 x 5"), (np.zeros((1, 1, 5)), "got 1 x 1 x 5"), (np.zeros(0), "got 0"),
    (np.array([0.0, np.nan]), "must be finite and at most 1e30, got nan in sample 1")])
def test_wrong_signal_file(shop, signal, message):
    with h5py.File(shop.folder / "maps.h5", "w") as file:
        file["s"] = signal
    done = shop.try_run(change("pml:", SOURCE.replace("( 0.0, 1.0, 2.0 )", '{ file = "maps.h5"; dataset = "/s"; }') + "pml:"))
    assert done.code == 3 and message in done.err and "sources[0].signal.dataset" in done.err


def test_warnings_of_sources_and_powers(shop):
    source = SOURCE.replace("0.0, 1.0, 2.0", ", ".join(["1.0"] * 20))
    done = shop.try_run(change("pml:", source + "pml:"))
    assert done.code == 0 and "the signal has 20 samples and the run 10 steps" in done.err
    assert "sample 0 of the signal is not 0 and is not used" in done.err
    done = shop.try_run(change("density = 1000.0;", "density = 1000.0; absorption: { coefficient = 0.1; power = 1.05; };"), "--force")
    assert "close to 1" in done.err


def test_switches_of_absorption_default_to_on(shop):
    scene = change("density = 1000.0;", "density = 1000.0; absorption: { coefficient = 0.5; power = 1.5; };")
    shop.run(scene)
    with h5py.File(shop.folder / "out.h5") as file:
        text = file["scene"].asstr()[()]
    assert "attenuation = true" in text and "dispersion = true" in text
    for given, default in (("", 'mode = "additive"'), (' mode = "dirichlet";', 'after = "stop"')):
        shop.run(change("pml:", SOURCE.replace('"p";', '"p";' + given) + "pml:"))
        with h5py.File(shop.folder / "out.h5") as file:
            assert default in file["scene"].asstr()[()]
