"""What ``python -m bench same`` runs: command lines of ``steelyard`` and a few loops over samples, with their files.

All goes through what users see: the command line with the files that it writes, and names of the package ``steelyard``.
Nothing here knows where a module of the package lies.
"""

from __future__ import annotations

import io
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from steelyard import Filter, LoadEstimator, Log, OnlineIdentifier, OnlineOptions, Options
from steelyard.identify.estimate_json import body_json
from steelyard.spatial import Array

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "bench" / "same"  # logs of simulated robots, and the reference
METHODS = ("lmi", "points", "shapes", "nonlinear", "constrained", "mata", "linear", "least-squares")
FEET = "FR_foot,FL_foot,RR_foot,RL_foot"
FORGOTTEN = {"inputs", "versions", "command", "file"}
AREA = (-0.2, 0.2, -0.1, 0.1, 0.057, 0.097)  # m, on the trunk


@dataclass(frozen=True)
class Case:
    """Some commands in turn, each writing to a place of its own below ``{out}``; or a function without arguments."""

    steps: tuple[str, ...] | Callable[[], dict[str, Any]]
    needs: str = ""  # a folder of measured data, or a distribution
    quick: bool = False
    apart: bool = False  # in a process of its own: worker processes want a main module that they can import


@dataclass(frozen=True)
class Kept:
    """What a case gave."""

    results: dict[str, Any]  # step → what its files hold
    roots: dict[str, tuple[Array, list[str]]]  # step → R and the names of its columns, too large to keep


def _ur10e(options: str, log: str = "{ur10e}/ur-20_02_10-30sec_12harm.csv.gz", mapping: str = "ur10e") -> Case:
    line = (
        f"identify {{ur10e}}/ur10e.urdf {log} --mapping {{maps}}/{mapping}.toml --friction all {options} -o {{out}}/it"
    )
    return Case((line,), "ur10e")


def _ur10e_load(mapping: str, options: str = "") -> Case:
    line = (
        "load {ur10e}/ur10e.urdf {ur10e}/ur-20_02_19_14harm50secLoad.csv.gz --on wrist_3_link --friction all "
        f"--empty {{ur10e}}/ur-20_02_19_14harm50sec.csv.gz --mapping {{maps}}/{mapping}.toml {options} -o {{out}}/it"
    )
    return Case((line,), "ur10e")


def _tx40(options: str) -> Case:
    line = (
        "identify {tx40}/tx40_mdh_modified.urdf {tx40}/pos_read_data.csv.gz --mapping {maps}/tx40.toml --friction all "
        f"--repair-prior --kinematics-cutoff 100 --cutoff 20 {options} -o {{out}}/it"
    )
    return Case((line,), "tx40")


def _arm(options: str, quick: bool = False) -> Case:
    line = f"identify demo_arm {{logs}}/arm-1.parquet {{logs}}/arm-2.parquet --friction all {options} -o {{out}}/it"
    return Case((line,), quick=quick)


def _a1(options: str, quick: bool = False) -> Case:
    return Case((f"identify demo_a1 {{logs}}/a1-empty.parquet --feet {FEET} {options} -o {{out}}/it",), quick=quick)


def _icub(run: str) -> Case:
    return Case((f"identify {{icub}}/model.urdf {{maps}}/{run}.parquet -o {{out}}/it",), "icub")


def _log(*names: str) -> Log:
    """Some of the logs kept here, one behind the other."""
    tables = [pq.read_table(REFERENCE / f"{name}.parquet") for name in names]
    columns = {c: np.concatenate([np.asarray(t[c]) for t in tables]) for c in tables[0].column_names}
    return Log.from_columns({**columns, "time": np.arange(len(columns["time"])) * (columns["time"][1])}, {}, names[0])


def _fed(online: OnlineIdentifier | LoadEstimator, log: Log) -> dict[str, Any]:
    """Every window's answer, and what happened on the way."""
    samples, size, windows = np.column_stack([log.columns[c] for c in online.inputs]), online.window, []
    for start in range(0, len(log.time) - size + 1, size):
        online.push_window(log.time[start : start + size], samples[start : start + size])
        estimate = online.estimate()
        bodies = {b.name: _body(b) for b in estimate.bodies}
        others = online.parameters[10 * len(bodies) :].tolist()  # joint terms, and bodies that are held
        proof = {"kkt": estimate.certificate.kkt, "gap": estimate.certificate.gap}
        windows.append(
            {"time": estimate.time, "rows": estimate.rows, "links": bodies, "others": others, "certificate": proof}
        )
        if isinstance(online, LoadEstimator):
            one = online.load()
            windows[-1] |= {"load": _body(one.body), "divisions": len(one.divisions)}
    changes = [
        {"time": c.time, "statistic": c.statistic, "threshold": c.threshold}
        | {"before": {name: p.tolist() for name, p in c.before.items()}}
        for c in online.changes
    ]
    counts = {"rejected": dict(online.rejected), "filled": online.filled, "gaps": online.gaps}
    return {"windows": windows, "changes": changes, "late": online.delay, "columns": list(online.inputs), **counts}


def _body(body: Any) -> dict[str, Any]:
    """Parameters, deviations and verdicts of a body."""
    entry = body_json(body)
    return {key: entry[key] for key in ("parameters", "std", "std_data", "verdicts", "consistent", "interval")}


def _online_a1(method: Any, online: OnlineOptions | None = None, **more: Any) -> Callable[[], dict[str, Any]]:
    """The robot as it is, then with a load on its back, then without."""

    def play() -> dict[str, Any]:
        options = Options(method=method, feet=tuple(FEET.split(",")), links=("trunk",))
        log = _log("a1-empty", "a1-loaded", "a1-empty")
        return _fed(OnlineIdentifier("demo_a1", _log("a1-empty"), options, online, **more), log)

    return play


def _online_arm() -> dict[str, Any]:
    options = Options(method="lmi", friction="all", filter=Filter(cutoff=10.0))
    online = OnlineOptions(window=25, memory=np.inf)
    return _fed(OnlineIdentifier("demo_arm", _log("arm-1"), options, online), _log("arm-2"))


def _online_load() -> dict[str, Any]:
    options = Options(method="shapes", feet=tuple(FEET.split(",")))
    online = OnlineOptions(window=20)
    return _fed(LoadEstimator("demo_a1", _log("a1-empty"), "trunk", AREA, options, online), _log("a1-loaded"))


MANY = "identify demo_arm {pieces}/1.parquet {pieces}/2.parquet {pieces}/3.parquet --friction all --cutoff 10"
SUMS = f"{MANY} --kinematics-cutoff 10 --checkpoint {{out}}/shelf"
GATHER = (
    "gather demo_arm {pieces}/1.parquet {pieces}/2.parquet {pieces}/3.parquet --friction all --json -o {out}/it.npz"
)
DRAWN = (
    "identify demo_arm {pieces}/*.parquet --friction all --cutoff 10 --kinematics-cutoff 10 --bootstrap 40 -o {out}/it"
)
LOADED = f"load demo_a1 {{logs}}/a1-loaded.parquet --on trunk --feet {FEET} --area {' '.join(map(str, AREA))}"
EMPTY = f"identify demo_a1 {{logs}}/a1-empty.parquet --feet {FEET} --links trunk -o {{out}}/empty"
CASES: dict[str, Case] = {
    **{f"ur10e {m}": _ur10e(f"--method {m}") for m in METHODS},
    "ur10e validated": _ur10e("--validate {ur10e}/ur-20_02_12-40sec_12harm.csv.gz"),
    "ur10e robust": _ur10e("--robust"),
    "ur10e ranges": _ur10e("--ranges all"),
    "ur10e gains unknown": _ur10e("", mapping="currents"),
    "ur10e load": _ur10e_load("currents"),
    "ur10e load, gains given": _ur10e_load("ur10e", "--ranges masses"),
    "ur10e check": Case(
        ("check {ur10e}/ur10e.urdf {ur10e}/ur-20_02_10-30sec_12harm.csv.gz --mapping {maps}/ur10e.toml --json",),
        "ur10e",
    ),
    **{f"tx40 {m}": _tx40(f"--method {m}") for m in METHODS},
    "tx40 held out": _tx40("--hold-out 0.5"),
    "icub walking": _icub("walking"),
    "icub sinusoid": _icub("com-sinusoid"),
    "talos base": Case(("identify talos {logs}/talos.parquet -o {out}/it",), "example-robot-data"),
    **{f"a1 base {m}": _a1(f"--links trunk --method {m}", quick=m == "lmi") for m in METHODS},
    "a1 all": _a1(""),
    "a1 symmetric": _a1("--method constrained --symmetric auto --total-mass 13.3"),
    "a1 divided": _a1("--links trunk --method shapes --divisions 10", quick=True),
    "a1 full": Case(("identify demo_a1 {logs}/a1-wrenches.parquet --equations full -o {out}/it",)),
    "a1 load": Case((EMPTY, f"{LOADED} --from {{out}}/empty -o {{out}}/it")),
    "a1 load, empty along": Case((f"{LOADED} --empty {{logs}}/a1-empty.parquet --divisions 10 -o {{out}}/it",)),
    **{f"arm {m}": _arm(f"--method {m}", quick=m in ("lmi", "least-squares")) for m in METHODS},
    "arm entropic": _arm("--regularisation entropic"),
    "arm pullback": _arm("--regularisation pullback"),
    "arm ellipsoid": _arm("--ellipsoid"),
    "arm points in hull": _arm("--method points --points 2 --points-in hull"),
    "arm points auto": _arm("--method points --points auto"),
    "arm divided": _arm("--method shapes --divisions 12"),
    "arm prior null": _arm("--prior-space data"),
    "arm prior box": _arm("--prior box --prior-width box --prior-weight 0.1"),
    "arm null space": _arm("--method least-squares --null-space data"),
    "arm some links": _arm("--links wrist_2_link,wrist_3_link --delay 0.002 --ranges masses --ranges-inside"),
    "arm sensor": Case(("identify {logs}/arm-tool.urdf {logs}/arm-tool.parquet -o {out}/it",)),
    "arm from": Case(
        (
            "identify demo_arm {logs}/arm-1.parquet --friction all -o {out}/first",
            "identify demo_arm {logs}/arm-2.parquet --friction all --from {out}/first -o {out}/it",
        )
    ),
    "arm gather": Case((GATHER,), quick=True),
    "arm sums": Case((f"{SUMS} -o {{out}}/read", f"{SUMS} -o {{out}}/kept"), quick=True),
    "arm workers": Case((f"{SUMS} --workers 2 -o {{out}}/it",), "distributed", apart=True),
    "arm bootstrap": Case((DRAWN,)),
    "arm check": Case(("check demo_arm {logs}/arm-1.parquet --json",), quick=True),
    "online a1": Case(_online_a1("shapes"), quick=True),
    "online a1 plain": Case(_online_a1("shapes", OnlineOptions(memory=np.inf), compiled=False)),
    "online a1 points": Case(_online_a1("points")),
    "online a1 lmi": Case(_online_a1("lmi")),
    "online a1 averaged": Case(_online_a1("shapes", average=0.5)),
    "online arm": Case(_online_arm),
    "online load": Case(_online_load),
}


def missing(case: Case, data: Path) -> str:
    """What a case needs and is not there, or nothing."""
    if case.needs in ("ur10e", "tx40", "icub"):
        if not (data / case.needs).is_dir():
            return f"measured data not present: {case.needs} (set STEELYARD_DATA to its parent folder)"
        return "" if case.needs != "icub" or find_spec("h5py") else "h5py is not installed"
    try:
        if case.needs:
            version(case.needs)
    except PackageNotFoundError:
        return f"{case.needs} is not installed"
    return ""


@contextmanager
def quiet() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        yield out, err


def run(case: Case, data: Path, folder: Path) -> Kept:
    """The case in an empty folder."""
    if not isinstance(case.steps, tuple):
        return Kept({"online": case.steps()}, {})
    places = {"logs": REFERENCE, "maps": folder, "pieces": folder / "pieces", "out": folder / "out"}
    places |= {name: data / name for name in ("ur10e", "tx40", "icub")}
    (folder / "out").mkdir()
    _prepare(case, data, folder)
    kept = Kept({}, {})
    for number, line in enumerate(case.steps):
        arguments = shlex.split(line.format(**places))
        code, printed, errors = (_apart if case.apart else _inside)(arguments)
        if code not in (0, 4):
            raise RuntimeError(f"steelyard {shlex.join(arguments)}: exit code {code}\n{errors}")
        out = Path(arguments[arguments.index("-o") + 1]) if "-o" in arguments else folder / str(number)
        entry: dict[str, Any] = {"exit code": code}
        if "--json" in arguments:
            entry["printed"] = json.loads(printed)
        for file in ("estimate.json", "load.json"):
            if (out / file).exists():
                entry[file] = json.loads((out / file).read_text(encoding="utf-8"))
        triangle = out if out.suffix == ".npz" else out / "information.npz"
        if triangle.exists():
            entry["information"], kept.roots[out.stem] = _information(triangle, whole=out.suffix == ".npz")
        kept.results[out.stem] = entry
    folders = sorted((str(place) + os.sep for place in places.values()), key=len, reverse=True)
    return Kept(_without(kept.results, folders), kept.roots)


def _inside(arguments: list[str]) -> tuple[int, str, str]:
    """``python -m steelyard`` in this process."""
    code, argv = 0, sys.argv
    with quiet() as (out, err):
        sys.argv = ["steelyard", *arguments]
        try:
            runpy.run_module("steelyard", run_name="__main__", alter_sys=True)
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            sys.argv = argv
    return code, out.getvalue(), err.getvalue()


def _apart(arguments: list[str]) -> tuple[int, str, str]:
    """``python -m steelyard`` in a process of its own."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    command = [sys.executable, "-m", "steelyard", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    return done.returncode, done.stdout, done.stderr


def _prepare(case: Case, data: Path, folder: Path) -> None:
    """Mappings of the guides, iCub's logs by its example, and short pieces of the arm's logs."""
    assert isinstance(case.steps, tuple)
    if case.needs in ("ur10e", "tx40"):
        guide = (ROOT / "docs" / {"ur10e": "mapping.md", "tx40": "how-to-tx40.md"}[case.needs]).read_text("utf-8")
        text = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)[0]
        (folder / f"{case.needs}.toml").write_text(text, encoding="utf-8")
        (folder / "currents.toml").write_text(text.partition("[gains]")[0], encoding="utf-8")
    if case.needs == "icub":
        command = [sys.executable, str(ROOT / "examples" / "icub.py"), str(data / "icub"), str(folder)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=120)
    if any("{pieces}" in line for line in case.steps):
        (folder / "pieces").mkdir()
        for number in range(8):  # four of each log, 2.5 s
            table = pq.read_table(REFERENCE / f"arm-{number % 2 + 1}.parquet").slice(250 * (number // 2), 250)
            pq.write_table(table, folder / "pieces" / f"{number + 1}.parquet")


def _information(path: Path, whole: bool) -> tuple[dict[str, Any], tuple[Array, list[str]]]:
    """What a triangle holds that does not depend on signs or on how rows were rotated.

    Of columns that depend on others a row of R is whatever rounding left; RᵀR, Rᵀz and the residual are not.
    """
    with np.load(path, allow_pickle=False) as file:
        triangle, rows, names = file["triangle"], int(file["rows"]), [str(name) for name in file["names"]]
    gram = triangle.T @ triangle
    length = np.sqrt(np.diag(gram))
    seen = length > 1e-9 * length[:-1].max()  # the others are what rounding leaves of columns that no row has
    scale = np.where(seen, length, np.inf)
    invariants: dict[str, Any] = {"rows": rows, "names": names, "lengths": length.tolist()}
    invariants["with the target"] = (gram[-1] / scale / length[-1]).tolist()  # cosines
    if whole:
        invariants["gram"] = [(row[: k + 1] / scale[: k + 1] / scale[k]).tolist() for k, row in enumerate(gram)]
    return invariants, (triangle[:-1, :-1], names)


def _without(value: Any, folders: list[str]) -> Any:
    """The same without what is of the run and not of the robot: files and their hashes, versions, where things lie."""
    if isinstance(value, Mapping):
        return {_without(k, folders): _without(v, folders) for k, v in value.items() if k not in FORGOTTEN}
    if isinstance(value, list):
        return [_without(v, folders) for v in value]
    if isinstance(value, str):
        for folder in folders:
            value = value.replace(folder, "")
    return value
