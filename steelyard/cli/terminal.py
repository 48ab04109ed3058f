"""Text output: tables on stdout, progress on stderr; the conclusion of a run is in ``conclusion.py``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from numpy import ndarray as Array
    from rich.console import Console

    from steelyard.identify.estimate import BodyEstimate, Estimate
    from steelyard.identify.identification import Identification

FEW = 4  # held bodies that are listed in the table; more are one line


def print_bodies(result: Identification, truth: bool = False) -> None:
    """Every body with mass, centre of mass and their sources; then the fit and its certificate."""
    estimate = result.estimate
    header = ["body", "mass, kg", "source", "centre of mass, mm", "source", "inertia", "moved"]
    held = [b for b in estimate.bodies if not b.free]
    shown = estimate.bodies if len(held) <= FEW else [b for b in estimate.bodies if b.free]
    rows = [_row(b) for b in (*shown, *estimate.loads)]
    if not estimate.consistent:  # else the question ``physical`` answers for all
        header = [*header, "physical"]
        rows = [[*row, "yes" if b.consistent else "NO"] for row, b in zip(rows, (*shown, *estimate.loads), strict=True)]
    if truth:
        header, rows = _with_truth(estimate, header, rows)
    print_table(header, rows)
    if len(held) > FEW:
        print(f"held at the description: {', '.join(b.name for b in held)}")
    print_ranges(estimate)
    if estimate.sensors:
        forces, moments = (f"f{c}, N" for c in "xyz"), (f"m{c}, N·m" for c in "xyz")
        print_table(["sensor offset", *forces, *moments], _offsets(estimate))
    fit = estimate.fit
    print(
        f"\n{estimate.rows} rows ({estimate.equations}); base parameters from the data: {_base(estimate)}; "
        f"condition {estimate.base_condition:.3g}"
    )
    print(f"fit: relative error {_percent(fit.relative)} (filtered {_percent(fit.relative_filtered)})")
    for path, score in estimate.validation.items():
        described = estimate.described.get(path)
        before = f"; by the description {_percent(described.relative)}" if described else ""
        errors = f"{_percent(score.relative)} (filtered {_percent(score.relative_filtered)})"
        print(f"held out {path}: relative error {errors}{before}")
    proof = estimate.certificate
    how = f"{proof.unknowns} unknowns, {proof.solver}, {1e3 * proof.seconds:.0f} ms"
    print(f"certificate: kkt {proof.kkt:.1e}, gap {proof.gap:.1e} ({how})")
    if estimate.bootstrap:
        print(estimate.bootstrap)


def print_ranges(estimate: Estimate) -> None:
    """Smallest and largest value of each quantity for any prior; nothing where they were not requested."""
    from steelyard.inference.quantity_ranges import format_range

    if estimate.ranges is None:
        return
    ranges = estimate.ranges
    names = {b.name: f"load on {b.carrier}" if b.carrier else b.name for b in (*estimate.bodies, *estimate.loads)}
    first = next(iter(ranges.bodies.values()))
    header = ["range for any prior", "mass", *(f"com {c}" for c in "xyz" if first.com)]
    header += ["inertia trace"] if first.trace else []
    rows = []
    for name, body in ranges.bodies.items():
        com = [format_range((_in_mm(low), _in_mm(high)), "mm") for low, high in body.com or ()]
        rows.append(
            [
                names[name],
                format_range(body.mass, "kg"),
                *com,
                *([format_range(body.trace, "kg·m²")] if body.trace else []),
            ]
        )
    print_table(header, [*rows, ["the whole robot", format_range(ranges.total, "kg"), *[""] * (len(header) - 2)]])


def _in_mm(metres: float | None) -> float | None:
    return None if metres is None else 1e3 * metres


def _with_truth(estimate: Estimate, header: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """The table with columns of the description and of the truth."""
    bodies = {b.name: b for b in estimate.bodies} | {f"load on {b.carrier}": b for b in estimate.loads}
    header = [header[0], "described, kg", "estimate, kg", "true, kg", *header[2:4], "true, mm", *header[4:]]
    table = []
    for row in rows:
        b = bodies[row[0]]
        true = estimate.truth[b.name]
        described = "—" if b.carrier else f"{b.prior[0]:.3f}"
        table.append([row[0], described, row[1], f"{true[0]:.3f}", *row[2:4], _millimetres(true), *row[4:]])
    return header, table


def _millimetres(parameters: Array) -> str:
    """Centre of mass, mm; the first moments, kg·m, where the mass is zero."""
    com = 1e3 * parameters[1:4] / parameters[0] if parameters[0] else parameters[1:4]
    return " ".join(f"{x:.1f}" for x in com)


def _row(b: BodyEstimate) -> list[str]:
    sources = [x if b.free else "held" for x in (b.source.mass, b.source.com, b.source.inertia)]
    return [
        f"load on {b.carrier}" if b.carrier else b.name,
        _mass(b),
        sources[0],
        _millimetres(b.parameters),
        *sources[1:],
        f"{b.source.moved:.1f} σ" if b.free and not b.carrier else "—",
    ]


def _mass(b: BodyEstimate) -> str:
    from steelyard.identify.sentence import mass_interval
    from steelyard.output.report.words import light

    if not b.free:
        return f"{b.mass:.3f}"
    return mass_interval(b, ".3f") if b.seen else f"none seen: at most {light(b.at_most)}"


def _base(estimate: Estimate) -> str:
    """How many come from the data: 31 of 36 of the bodies, 24 of 24 of the joints."""
    counts = {"bodies": estimate.count_base("body"), "joints": estimate.count_base("joint")}
    counts["sensors"] = estimate.count_base("sensor")
    return ", ".join(f"{data} of {count} of the {name}" for name, (data, count) in counts.items() if count)


def print_end(result: Identification, files: list[Path], verb: str = "identify") -> None:
    """Before and after, contradictions, doubts, notices, files; the questions, and the verdict in one sentence.

    Args:
        result: What was identified.
        files: What was written.
        verb: The subcommand, whose flags the fixes of doubts name.
    """
    from steelyard.cli.conclusion import print_before_and_after, print_contradictions, print_doubts, print_questions
    from steelyard.identify.sentence import sentence
    from steelyard.output.results import has_report

    print_before_and_after(result.estimate)
    print_contradictions(result.estimate)
    print_doubts(result.estimate, verb)
    for notice in result.estimate.notices:
        print(f"note: {notice}")
    print("written: " + ", ".join(str(f) for f in files if f.suffix in (".json", ".urdf", ".xml", ".html")))
    if not has_report():
        print('note: no report, since its packages are missing: pip install "steelyard[report]"')
    print_questions(result.estimate)
    print(f"\n{sentence(result.estimate)}")


def _offsets(estimate: Estimate) -> list[list[str]]:
    from steelyard.output.report.words import with_interval

    return [
        [
            name,
            *(
                "—" if x is None else "prior" if source == "prior" else with_interval(x, std)
                for x, std, source in zip(s.offset, s.std, s.sources, strict=True)
            ),
        ]
        for name, s in estimate.sensors.items()
    ]


def _percent(value: float | None) -> str:
    return "—" if value is None else f"{100 * value:.2f} %"


def print_table(header: list[str], rows: list[list[str]]) -> None:
    """A plain table on stdout."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 160, markup=False, highlight=False).print(table)


@contextmanager
def _stderr() -> Iterator[Console]:
    from rich.console import Console

    console = Console(stderr=True, markup=False, highlight=False)
    try:
        yield console
    except KeyboardInterrupt:
        console.print("Interrupted; no result was written.")
        raise SystemExit(130) from None


@contextmanager
def shown_bar(text: str) -> Iterator[Callable[[float], None]]:
    """A progress bar on stderr for a share from 0 to 1; a line every tenth where there is no terminal."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    tenths = -1
    with _stderr() as console:

        def line(share: float) -> None:
            nonlocal tenths
            if int(10 * share) > tenths:
                tenths = int(10 * share)
                console.print(f"… {text}, {10 * tenths} %")

        if not console.is_terminal:
            yield line
            return
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console) as bar:
            task = bar.add_task(text, total=1.0)
            yield lambda share: bar.update(task, completed=share)


@contextmanager
def shown_progress() -> Iterator[Callable[[str], None]]:
    """Progress on stderr: a live line on a terminal, plain lines elsewhere."""
    with _stderr() as console:
        if not console.is_terminal:
            yield lambda text: console.print(f"… {text}")
            return
        with console.status("starting") as status:
            yield lambda text: status.update(text)


def command_line() -> str:
    """The command as typed, for provenance."""
    return shlex.join(["steelyard", *sys.argv[1:]])


def finish(result: Identification, files: list[Path], as_json: bool) -> NoReturn:
    """Print the result as text or JSON, and exit with its code."""
    import typer

    from steelyard.identify.estimate_json import estimate_json, estimate_text
    from steelyard.identify.verdict import exit_code

    if as_json:
        print(estimate_text(estimate_json(result.estimate)), end="")
    else:
        print_bodies(result)
        print_end(result, files)
    raise typer.Exit(exit_code(result.estimate))
