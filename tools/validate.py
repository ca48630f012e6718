# SPDX-License-Identifier: BSD-3-Clause
"""Judges reports of the mini-apps, as RUN_RULES.md says: ./plaquette validate FILE... | FOLDER

A report alone is held to the schema, to itself and to what a machine can give. A folder with submission.json is held to
the run rules too. There each run is of an official class and repeated, the spread is small, and scaling series are
complete. Exit status: 0 all are good, 1 one is refused, 2 one cannot be used."""

import argparse
import os
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path[:0] = [os.path.join(ROOT, part) for part in ("plots", os.path.join("validation", "cli"), "tools")]
import report_file  # noqa: E402
from json_schema import errors as schema_errors  # noqa: E402
from report_checks import chain_faults, check_list_faults, observable_faults  # noqa: E402
from report_class import class_faults  # noqa: E402
from report_correlators import correlator_faults  # noqa: E402
from report_energy import energy_faults  # noqa: E402
from report_figures import figure_faults  # noqa: E402
from report_limits import read_json  # noqa: E402
from report_origin import noise_remarks, origin_faults  # noqa: E402
from report_solves import history_faults, solve_faults, speed_faults, wave_faults  # noqa: E402
from report_verdict import check_faults, checksum_faults, fom_faults  # noqa: E402
from submission import energy_lines, folder_faults, is_comparable, pairs_of, read_submission, rule_faults, submission_faults  # noqa: E402

REFUSED, UNUSABLE = 1, 2
MALFORMED = "schema: "  # a fault of a report whose parts are not of their kinds
SUBMISSION = "submission.json"
SCHEMA = read_json(ROOT, "common", "app", "report.schema.json")


def judge(path, revision=None, trial=False):
    """(report, faults, remarks) of a file. Throws ReportError where it is no report, or one whose parts are of another
    kind than a report's."""
    try:
        return judge_parts(path, revision, trial)
    except (KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError, IndexError, OverflowError) as error:
        raise report_file.ReportError(f"{path}: a part of the report is missing or of another kind than expected: "
                                      f"{type(error).__name__}: {error}") from None


def judge_parts(path, revision, trial):
    """See judge."""
    report, remarks = report_file.load(path), []
    found = schema_errors(report, SCHEMA)
    if found:
        return report, [f"{MALFORMED}{fault}" for fault in found[:5]], remarks
    faults = checksum_faults(report, path, remarks) + check_faults(report) + check_list_faults(report) + \
        observable_faults(report) + chain_faults(report) + history_faults(report) + correlator_faults(report) + wave_faults(report) + fom_faults(report) + \
        figure_faults(report) + energy_faults(report) + solve_faults(report) + speed_faults(report) + \
        origin_faults(report, revision, remarks, trial)
    if "class" in report:
        faults += class_faults(report, remarks)
    noise_remarks(report, remarks)
    return report, faults, remarks


def reports_of(argument):
    """The reports that an argument names: a file, an archive, or all below a folder; and its submission.json."""
    if not os.path.isdir(argument):
        return report_file.expanded([argument]), None
    found, submission = [], None
    for folder, folders, files in os.walk(argument):
        folders.sort()
        for name in sorted(files):
            if name == SUBMISSION and folder == argument:
                submission = os.path.join(folder, name)
            elif name.endswith(".json") and os.path.basename(folder) not in ("system", "logs"):  # logs: trials before runs
                found.append(os.path.join(folder, name))
    if not found:
        raise report_file.ReportError(f"{argument}: expected a folder of JSON reports, found none")
    return found, submission


def main():
    parser = argparse.ArgumentParser(prog="./plaquette validate", description=__doc__.split("\n\n")[1])
    parser.add_argument("paths", nargs="+", metavar="FILE|FOLDER")
    parser.add_argument("--rules", action="store_true",
                        help="hold loose files to the run rules too, as those of a submission are")
    parser.add_argument("--revision", help="that all reports must be of")
    parser.add_argument("--trial", action="store_true",
                        help="for trying it out: do not judge the revision, nor changes to its files")
    parser.add_argument("--quiet", action="store_true", help="leave remarks out")
    arguments = parser.parse_args()
    paths, rules, series, revision, silent, documents = [], arguments.rules, [], arguments.revision, [], []
    for argument in arguments.paths:
        found, submission = reports_of(argument)
        paths += found
        if submission:
            document = read_submission(submission)
            rules, revision = True, revision or document.get("revision")
            series += document.get("scaling", [])
            if not document.get("energy"):
                silent.append(f"{submission}: expected 'energy', what was read or by which instrument power was measured")
            documents.append((submission, document))
    named, verdicts, unusable = [], {}, False
    for path in paths:
        try:
            report, faults, remarks = judge(path, revision, arguments.trial)
        except report_file.ReportError as error:
            unusable, verdicts[path] = True, (None, [str(error)], [])
            continue
        if rules and "class" not in report:
            faults.append("not a run of an official class (--size)")
        verdicts[path] = (report, faults, remarks)
        # Others have no parts to compare.
        if not any(fault.startswith(MALFORMED) for fault in faults) and is_comparable(report):
            named.append((path, report))
        elif not faults:
            faults.append("parts by which reports are compared are missing or of another kind than expected")
    for path, fault in pairs_of(named) if rules else []:
        verdicts[path][1].append(fault)
    for path, document in documents:
        silent += submission_faults(path, document, named) + folder_faults(path, document, named)
    together, lines = rule_faults([(p, r) for p, r in named if not verdicts[p][1]], series) if rules else ([], [])
    lines += energy_lines(named) if lines else []
    refused = print_verdicts(verdicts, together + silent, lines, arguments.quiet)
    sys.exit(UNUSABLE if unusable else REFUSED if refused else 0)


def print_verdicts(verdicts, together, lines, quiet):
    for path, (report, faults, remarks) in verdicts.items():
        try:
            fom = report_file.fom_text(report, path) if report else ""
        except report_file.ReportError:  # the faults say why
            fom = "no figure of merit"
        run_class = report.get("class") if report else None
        name = run_class.get("name", "no class") if isinstance(run_class, dict) else "no class" if report else ""
        print(f"{'REFUSED' if faults else 'VALID':<8} {path}   {name}   {fom}")
        for fault in faults:
            print(f"         {fault}")
        for remark in [] if quiet else remarks:
            print(f"         remark: {remark}")
    if lines:
        print("\nprogram                 class   memory  on   ranks  runs      median  spread  joules a solve")
        print("\n".join(lines))
    for fault in together:
        print(f"RULES    {fault}")
    refused = sum(bool(faults) for _, faults, _ in verdicts.values())
    good = not refused and not together
    print(f"\nVALIDATED  {'PASSED' if good else 'FAILED'}     ({len(verdicts)} reports, {refused} refused, "
          f"{len(together)} rules broken)")
    return not good


if __name__ == "__main__":
    report_file.end_plainly(main)
