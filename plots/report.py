#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints what JSON reports of the mini-apps say: a block a report, with its figure of merit, its verdict and its checks."""

import argparse
import os
import sys

from report_file import ReportError, load, number, provenance, short

UNUSABLE_INPUT, VERIFICATION_FAILED = 2, 1


def lines_of(path, report):
    """The block of one report."""
    fom = report["fom"]
    yield f"{path}: {report['app']}"
    for line in provenance(report).split("\n"):
        yield f"    {line}"
    for solve in report["solves"]:
        residual = solve.get("residual", {})
        yield (f"    solve      {solve.get('solver')} {solve.get('precision')}: {solve.get('iterations')} iterations, "
               f"{short(number(solve.get('seconds', 'nan'), path))} s, true residual {residual.get('reference')}")
    for figure in report["figures"]:
        lattice = "x".join(str(length) for length in figure.get("lattice", []))
        yield (f"    operator   {figure.get('operator')} {lattice} {figure.get('precision')} N={figure.get('rhs')}: "
               f"{short(number(figure.get('gflops', 'nan'), path))} GFLOP/s")
    for check in report["checks"]:
        if not check.get("passed"):
            yield f"    FAILED     {check.get('name')}: {check.get('value')} / {check.get('tolerance')}"
    yield f"    FOM        {short(number(fom.get('value', 'nan'), path))} {fom.get('unit', '')}"
    yield f"    VERIFIED   {'PASSED' if report['verified'] is True else 'FAILED'} ({len(report['checks'])} checks)"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", nargs="+", help="JSON reports (--json)")
    arguments = parser.parse_args()
    # A pattern that matched nothing arrives as it was written.
    paths = [path for path in arguments.report if "*" not in path or os.path.exists(path)]
    if not paths:
        raise ReportError("no reports: run a mini-app with --json FILE first, or ./plaquette demo")
    all_verified = True
    for path in paths:
        report = load(path)
        print("\n".join(lines_of(path, report)))
        all_verified = all_verified and report["verified"] is True
    sys.exit(0 if all_verified else VERIFICATION_FAILED)


if __name__ == "__main__":
    try:
        main()
    except ReportError as error:
        print(f"report.py: {error}", file=sys.stderr)
        sys.exit(UNUSABLE_INPUT)
