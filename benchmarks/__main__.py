"""Measure, write ``results/samplers.json`` or that of another name, and print tables."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import (
    accountant,
    exact,
    langevin,
    last_states,
    measures,
    networks,
    one_model,
    paths,
    peers,
    population_rates,
    ranges,
    rates,
    rates_pictures,
    scale,
    scaling,
    trees,
    tuning,
    utility,
)
from benchmarks.machine import machine
from benchmarks.measured import write_result

RESULTS = Path(__file__).parent / "results" / "samplers.json"
_SIZE = ("n", "p", "K")
_RATIOS = ("xla_ratio", "blackjax_ratio", "mala_ratio", "loop_ratio")


def main() -> None:
    """Run what is asked for once, on this machine, one measurement after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what",
        nargs="?",
        choices=(
            *("samplers", "exact", "paths", "utility", "tuning", "one_model", "networks"),
            *("rates", "trees", "scale", "page"),
        ),
        default="samplers",
    )
    parser.add_argument("--seconds", type=float, default=3.0, help="time of one measurement")
    parser.add_argument("--splits", type=int, default=20, help="splits of each table (utility)")
    parser.add_argument("--tables", nargs="*", default=(), help="some tables only (utility)")
    parser.add_argument(
        "--folder", default="", help="CSV files, by default RASHOMON_DATA (utility, trees)"
    )
    parser.add_argument("--rows", nargs="*", default=scale.ROWS, help="sizes of tables (scale)")
    parser.add_argument("--visits", type=int, default=3, help="pages opened of a kind (page)")
    options = parser.parse_args()
    if options.what == "page":
        _measure_page(options.visits)
        return
    if options.what == "exact":
        _measure_exact(options.seconds)
        return
    if options.what == "paths":
        walked = paths.measure(options.folder, tuple(options.tables))
        paths.write(walked)
        print(*paths.lines(walked), sep="\n")
        return
    if options.what == "one_model":
        measured = one_model.measure(options.splits)
        one_model.write(measured)
        print(*one_model.lines(measured), sep="\n")
        return
    if options.what == "networks":
        found = networks.measure(min(options.splits, 3), tuple(options.tables), options.folder)
        networks.write(found)
        print(*networks.lines(found), sep="\n")
        return
    if options.what == "scale":
        sizes = scale.measure(tuple(map(int, options.rows)))
        scale.write(sizes)
        print(*scale.lines(sizes), sep="\n")
        return
    if options.what == "rates":
        found = rates.measure()
        rates.write(found)
        rates_pictures.write(found)
        last_states.write()
        risks = population_rates.measure()
        population_rates.write(risks)
        print(*rates.lines(found), *population_rates.lines(risks), sep="\n")
        return
    if options.what == "utility":
        measured = utility.measure(options.splits, tuple(options.tables), options.folder)
        utility.write(measured)
        print(*utility.lines(measured), sep="\n")
    elif options.what == "tuning":
        measured = tuning.measure(options.splits, tuple(options.tables) or tuning.TABLES)
        tuning.write(measured)
        print(*tuning.lines(measured), sep="\n")
    elif options.what == "trees":
        measured = trees.measure(options.folder, splits=options.splits)
        trees.write(measured)
        print(*trees.lines(measured), sep="\n")
    else:
        _measure_samplers(options.seconds)


def _measure_page(visits: int) -> None:
    from benchmarks import page  # a browser is needed for nothing else

    found = page.measure(visits)
    page.write(found)
    print(*page.lines(found), sep="\n")


def _measure_exact(seconds: float) -> None:
    sizes = exact.measure(seconds)
    write_result(RESULTS.with_name("exact.json"), {"machine": machine(), "sizes": sizes})
    _print_table("exact", sizes)


def _measure_samplers(seconds: float) -> None:
    _measure_exact(seconds)
    results = {
        "machine": machine(),
        "langevin": langevin.measure(seconds),
        "peers": peers.measure(seconds),
        "n_slope": round(scaling.slope_in_rows(seconds), 3),
        "accountant": accountant.measure(seconds),
        "measures": measures.measure(seconds),
        "ranges": ranges.measure(seconds),
    }
    results |= _headlines(results)
    write_result(RESULTS, results)
    for name in ("langevin", "measures", "ranges"):
        _print_table(name, results[name])
    _print_peers(results["peers"])
    for name in ("queries", "plans"):
        _print_table(f"accountant, {name}", results["accountant"][name])
    print()
    for name in ("blackjax_ratio", "xla_ratio", "n_slope"):
        print(f"{name}: {results[name]}")


def _headlines(results: dict[str, Any]) -> dict[str, Any]:
    """One number each: the most chains in the set, XLA at (6000, 12, 256)."""
    every_row = next(e for e in results["peers"]["sizes"] if e["K"] == peers.MIDDLE_CHAINS)
    return {
        "blackjax_ratio": results["peers"]["thresholded"][-1]["blackjax_ratio"],
        "xla_ratio": every_row["xla_ratio"],
    }


def _print_peers(measured: dict[str, Any]) -> None:
    columns = (*_SIZE, "hit_rate", *_RATIOS, "xla_ratio_of_products", "largest_difference")
    _print_table(
        "our chain-steps a second over each peer's, every chain looking at every row (below 1 the "
        "peer is faster)",
        measured["sizes"],
        columns,
    )
    _print_table(
        "the same where the chains are distributed as the target", measured["thresholded"], columns
    )
    entries = measured["sizes"] + measured["thresholded"]
    for reason in sorted({entry["why_null"] for entry in entries if entry["why_null"]}):
        print(f"null because {reason}")


def _print_table(title: str, rows: list[dict[str, Any]], columns: Sequence[str] = ()) -> None:
    columns = columns or list(rows[0])
    cells = [[_text(row[column]) for column in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    print(f"\n{title}")
    for line in (columns, *cells):
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def _text(value: Any) -> str:
    if value is None:
        return "null"
    return f"{value:.1e}" if isinstance(value, float) and 0 < value < 1e-4 else str(value)


if __name__ == "__main__":
    main()
