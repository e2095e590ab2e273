#!/usr/bin/env python3
"""Both backends by one command: steps over sizes, and three whole jobs; a CSV, a Markdown table and a picture.

    benchmarks/compare.py [--build build] [--out out] [--quick]

Every row is one process (benchmarks/step.c): ms per step, the ratio to ten 3-D transforms of the backend's own library
timed in the same process, bandwidth, memory and set-up. The CPU runs the sizes up to --cpu-largest. The jobs are
128^3 x 200, 256^3 x 500 and 384^3 x 800 steps of configs/ball.cfg, whole processes from start to file, the second of two
runs (the first measures FFT plans).
"""
import argparse
import csv
import io
import os
import re
import subprocess
import sys
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
CUBES = [64, 128, 192, 256, 384, 512]
OTHERS = [(251, 251, 251), (240, 252, 270)]  # a prime, and 7-smooth
PHYSICS = ["c0", "c0_rho0", "stokes", "absorbing", "nonlinear", "everything", "p_source"]  # against homogeneous
MEDIA = ["homogeneous", "c0_rho0"]
JOBS = [(128, 200), (256, 500), (384, 800)]


def usable_backends(program):
    lines = subprocess.run([program, "--list-backends"], capture_output=True, text=True, check=True).stdout.splitlines()
    names = {}
    for name, state in zip(lines[::2], lines[1::2]):
        names[name.split()[0]] = state.strip()
    for name, state in names.items():
        print("%-5s %s" % (name, state), file=sys.stderr)
    return {name: state.split(";")[0][len("usable: "):] for name, state in names.items() if state.startswith("usable")}


def run_steps(step, backends, arguments):
    header = subprocess.run([step], capture_output=True, text=True, check=True).stdout
    text = header
    sizes = [(n, n, n) for n in CUBES[:3 if arguments.quick else None]] + OTHERS
    for backend in backends:
        for medium in MEDIA:
            for size in sizes:
                if backend == "cpu" and max(size) > arguments.cpu_largest:
                    continue
                done = subprocess.run([step, backend, "single", medium, *map(str, size)], capture_output=True, text=True)
                if done.returncode != 0:
                    print("%s %s %s: %s" % (backend, medium, size, done.stderr.strip()), file=sys.stderr)
                    continue
                print(done.stdout.strip(), file=sys.stderr)
                text += done.stdout
        for medium in PHYSICS:
            n = "128" if backend == "cpu" or arguments.quick else "256"
            if medium in MEDIA:
                continue
            done = subprocess.run([step, backend, "single", medium, n], capture_output=True, text=True)
            print(done.stdout.strip() or done.stderr.strip(), file=sys.stderr)
            text += done.stdout
    return text, list(csv.DictReader(io.StringIO(text)))


def run_job(program, backend, n, steps, folder):
    """Seconds of the whole process, and ms per step as it says."""
    command = [program, os.path.join(ROOT, "configs", "ball.cfg"), "--backend", backend, "--set", "grid.size=%d" % n, "--steps",
               str(steps), "-o", os.path.join(folder, "job.h5"), "--force", "-q"]
    start = time.time()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.time() - start
    if done.returncode != 0:
        print("job %d %s: %s" % (n, backend, done.stderr.strip()), file=sys.stderr)
        return None
    return seconds, float(re.search(r"([\d.e+]+) ms/step", done.stdout).group(1))


def run_jobs(program, backends, arguments):
    rows = []
    for backend in backends:
        for n, steps in JOBS[:1 if arguments.quick else None]:
            if backend == "cpu" and n > arguments.cpu_largest:
                continue
            results = [run_job(program, backend, n, steps, arguments.out) for _ in range(2)]
            if results[1]:
                rows.append({"backend": backend, "n": n, "steps": steps, "seconds": results[1][0], "ms_per_step": results[1][1]})
                print(rows[-1], file=sys.stderr)
    return rows


def markdown(backends, steps, jobs):
    lines = ["Devices: " + "; ".join("%s: %s" % item for item in backends.items()) + ". p at 64 points on every step.", "",
             "| backend | medium | size | ms/step | steps/s | Mvoxel·steps/s | GB/s | of copy | ten transforms, ms | ratio | in a graph | MB | set-up, s |",
             "|---|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for r in steps:
        size = "%s³" % r["nx"] if r["nx"] == r["ny"] == r["nz"] else "×".join((r["nx"], r["ny"], r["nz"]))
        graph = "%.2f" % float(r["ratio_graph"]) if float(r["ratio_graph"]) > 0 else "–"
        lines.append("| %s | %s | %s | %.3g | %.4g | %.0f | %.0f | %.0f %% | %.3g | %.2f | %s | %.0f | %.2f |" % (
            r["backend"], r["medium"].replace("c0_rho0", "c0, rho0 maps"), size, float(r["ms_per_step"]), float(r["steps_per_s"]),
            float(r["Mvoxel_steps_per_s"]), float(r["effective_GB_per_s"]), 100 * float(r["share_of_copy"]), float(r["ten_ms"]),
            float(r["ratio"]), graph, float(r["memory_MB"]), float(r["setup_s"])))
    lines += ["", "| cost of the physics | " + " | ".join(PHYSICS) + " |", "|---|" + "---|" * len(PHYSICS)]
    for backend in backends:
        n = "256" if any(r["backend"] == backend and r["nx"] == "256" and r["medium"] == "everything" for r in steps) else "128"
        of = {r["medium"]: float(r["ms_per_step"]) for r in steps if r["backend"] == backend and r["nx"] == r["ny"] == r["nz"] == n}
        lines.append("| %s, %s³, against homogeneous | %s |" % (backend, n, " | ".join(
            "%.2f" % (of[m] / of["homogeneous"]) if m in of and "homogeneous" in of else "–" for m in PHYSICS)))
    lines += ["", "| job, whole process | " + " | ".join("%d³ × %d" % job for job in JOBS) + " |", "|---|" + "---|" * len(JOBS)]
    for backend in backends:
        cells = ["–"] * len(JOBS)
        for row in jobs:
            if row["backend"] == backend:
                cells[JOBS.index((row["n"], row["steps"]))] = "%.3g s" % row["seconds"]
        lines.append("| %s | %s |" % (backend, " | ".join(cells)))
    return "\n".join(lines) + "\n"


def draw(backends, steps, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
    for backend, device in backends.items():
        rows = [r for r in steps if r["backend"] == backend and r["medium"] == "homogeneous" and r["nx"] == r["ny"] == r["nz"]]
        rows.sort(key=lambda r: int(r["nx"]))
        n = [int(r["nx"]) for r in rows if r["nx"] != "251"]
        of = {int(r["nx"]): r for r in rows}
        left.loglog(n, [float(of[i]["ms_per_step"]) for i in n], "o-", label="%s: %s" % (backend, device))
        left.loglog(n, [float(of[i]["ten_ms"]) for i in n], "x--", color=left.lines[-1].get_color(), alpha=0.6, label="ten transforms")
        right.plot(n, [float(of[i]["ratio"]) for i in n], "o-", label=backend)
    left.set(xlabel="points per axis", ylabel="ms per step", title="one step")
    right.set(xlabel="points per axis", ylabel="step / ten transforms", title="against the yardstick", ylim=(0, None))
    for axes in (left, right):
        axes.grid(alpha=0.3, which="both")
        axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="folder of the build")
    parser.add_argument("--out", default=os.path.join(ROOT, "out"), help="folder for compare.csv, compare.md, compare.png")
    parser.add_argument("--cpu-largest", type=int, default=256, help="largest size that the CPU runs (default 256)")
    parser.add_argument("--quick", action="store_true", help="small sizes and the first job only")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    program = os.path.join(os.path.abspath(arguments.build), "kwsim")
    backends = usable_backends(program)
    text, steps = run_steps(os.path.join(os.path.abspath(arguments.build), "benchmarks", "step"), backends, arguments)
    jobs = run_jobs(program, backends, arguments)
    path = os.path.join(arguments.out, "compare")
    with open(path + ".csv", "w") as file:
        file.write(text)
    with open(path + ".md", "w") as file:
        file.write(markdown(backends, steps, jobs))
    draw(backends, steps, path + ".png")
    print(markdown(backends, steps, jobs))


if __name__ == "__main__":
    main()
