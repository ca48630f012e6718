#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints what JSON reports of the mini-apps say: a block a report, with its figure of merit, its verdict and its checks.
Each has a line that says whether `./plaquette validate` takes it, and if not, why. With --html all of it is also written,
with figures, to one page that needs no other file and no network. A report that contradicts itself or its checksum is
refused."""

import argparse
import os
import sys
import tempfile

from report_file import ReportError, Reports, end_plainly, fom_text, load, number, provenance, short

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "tools"))
from validate import judge  # noqa: E402  (makes the modules of tools/ known)
from report_verdict import contradictions  # noqa: E402

VERIFICATION_FAILED = 1


def lines_of(path, report):
    """The block of one report."""
    yield f"{path}: {report['app']}"
    for line in provenance(report).split("\n"):
        yield f"    {line}"
    for solve in report["solves"]:
        residual = solve.get("residual") if isinstance(solve.get("residual"), dict) else {}
        yield (f"    solve      {solve.get('solver')} {solve.get('precision')}: {solve.get('iterations')} iterations, "
               f"{short(number(solve.get('seconds', 'nan'), path))} s, true residual {residual.get('reference')}")
    for figure in report["figures"]:
        lengths = figure.get("lattice")
        lattice = "x".join(str(length) for length in lengths) if isinstance(lengths, list) else "?"
        if isinstance(lengths, list) and not any(lengths):
            lattice = f"order {figure.get('order')}, {figure.get('elements')} elements"
        yield (f"    operator   {figure.get('operator')} {lattice} {figure.get('precision')} N={figure.get('rhs')}: "
               f"{short(number(figure.get('gflops', 'nan'), path))} GFLOP/s"
               + (f" {figure['protocol']}" if "protocol" in figure else ""))
    for check in report["checks"]:
        if not check.get("passed"):
            yield f"    FAILED     {check.get('name')}: {check.get('value')} / {check.get('tolerance')}"
    run_class = report.get("class", {})
    if isinstance(run_class, dict) and run_class:
        yield f"    CLASS      {run_class.get('name')} {'CONFORMS' if run_class.get('conforms') is True else 'DOES NOT'}"
    yield f"    FOM        {fom_text(report, path)}"
    yield f"    VALID      {validity(path)}"
    yield f"    VERIFIED   {'PASSED' if report['verified'] is True else 'FAILED'} ({len(report['checks'])} checks)"


def validity(path):
    """"yes", or why `./plaquette validate` refuses a report."""
    try:
        faults = judge(path)[1]
    except ReportError as error:
        return f"NO         ({str(error).removeprefix(f'{path}: ')})"
    more = f"; and {len(faults) - 1} more" if len(faults) > 1 else ""
    return f"NO         ({faults[0]}{more})" if faults else "yes"


def write_page(path, reports, force):
    """The page, whole or not at all; an existing file stays unless `force`."""
    import html_page  # matplotlib is not needed for the text

    if os.path.exists(path) and not force:
        raise OSError(None, "exists already (--force overwrites it)", path)
    text = html_page.page(reports)
    folder, name = os.path.split(os.path.abspath(path))
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", errors="replace", prefix=f".{name}.", dir=folder,
                                         delete=False) as beside:
            beside.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(beside.name, 0o666 & ~umask)
        os.replace(beside.name, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", nargs="+", action=Reports, help="JSON reports (--json), or paths into archives")
    parser.add_argument("--html", metavar="OUT.html", help="write one self-contained page there")
    parser.add_argument("--force", action="store_true", help="overwrite an existing page")
    arguments = parser.parse_args()
    # A pattern that matched nothing arrives as it was written.
    paths = [path for path in arguments.report if "*" not in path or os.path.exists(path)]
    if not paths:
        raise ReportError("no reports: run a mini-app with --json FILE first, or ./plaquette demo")
    sys.stdout.reconfigure(errors="replace")  # a report's text may hold what a terminal cannot show
    reports = [(path, load(path)) for path in paths]
    for path, report in reports:
        if faults := contradictions(report, path):
            raise ReportError(f"{path}: {'; '.join(faults)}")
    for path, report in reports:
        print("\n".join(lines_of(path, report)))
    if arguments.html:
        write_page(arguments.html, reports, arguments.force)
        print(f"PAGE       {arguments.html}")
    sys.exit(0 if all(report["verified"] is True for _, report in reports) else VERIFICATION_FAILED)


if __name__ == "__main__":
    end_plainly(main)
