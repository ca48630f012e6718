# SPDX-License-Identifier: BSD-3-Clause
"""The HTML page that plots/report.py makes of reports: whole, valid, of nothing but itself, and shown by a browser."""
import base64
import html
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from plots_test import PLOTS, PYTHON, SKIPPED, FolderTest, made_up_report

VOID = {"meta", "img", "br", "hr", "link", "input"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

#: Texts that would do harm if they were taken for HTML, for a formula, or for the end of either.
HOSTILE = ["</td></table><script>document.title = 'taken'</script>", "\"><img src=x onerror=alert(1)>",
           "'><svg onload=alert(1)>", "$\\frac{", "a & b < c", "https://example.org/x.js", "]]>", "\u202e\x00\x7f", "\ud800"]


def operator_figure(ranks=1, rate=10.0, **changes):
    figure = {"operator": "hopping", "layout": "even-odd", "precision": "double", "reconstruct": 18, "rhs": 1,
              "lattice": [8, 8, 8, 8], "device": "cpu", "ranks": ranks, "threads": 1,
              "seconds": {"min": 1e-4, "median": 1.1e-4, "max": 2e-4, "samples": 9}, "gflops": rate,
              "gbytes_per_s": 5.0, "fraction_of_copy": 0.6, "fraction_of_fma_peak": 0.3}
    figure.update(changes)
    return figure


def scaling_report(ranks, rate):
    report = made_up_report()
    report.update(app="dslash-scaling", solves=[], observables={}, figures=[operator_figure(ranks, rate)])
    report["parameters"].update(scaling="strong", lattice=[8, 8, 8, 8])
    return report


def failed_report():
    report = made_up_report()
    report.update(verified=False, fom={"value": "nan", "unit": "solves/s", "what": "nothing"}, observables={})
    report["checks"].append({"name": "a failed check", "value": "nan", "tolerance": 1e-12, "passed": False})
    return report


def hostile_report(text):
    """A report with that text wherever a text can be."""
    report = made_up_report()
    report.update(app=text, fom={"value": 1.0, "unit": text, "what": text}, gauge={"source": text, "plaquette": text},
                  parameters={"command": text, text: text, "precision": text}, machine={"cpu": text, "gpu": text},
                  build={"revision": text, "compiler": text, "dirty": True})
    report["checks"][0]["name"] = text
    report["solves"][0].update(solver=text, precision=text)
    report["figures"] = [operator_figure(operator=text, precision=text, lattice=[text], device=text)]
    return report


def odd_report():
    """What the schema would not allow, where only the outermost shape is looked at."""
    report = made_up_report()
    report.update(fom={}, checks=[{"value": 0, "tolerance": 0, "passed": True}], solves=[{}], figures=[{"seconds": 1, "lattice": 3}], parameters={"lattice": 7},
                  machine={"libraries": [1, {"a": None}]}, build={}, gauge={}, observables={"pion": "none"})
    report["observables"] = {"other": [1, 2]}
    return report


class Page(html.parser.HTMLParser):
    """Elements in order, with a check that each is closed where it was opened."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.faults, self.shown = [], [], [], []
        self.feed(text)
        self.close()
        self.faults += [f"<{name}> is never closed" for name in self.open]

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if len(dict(attrs)) != len(attrs):
            self.faults.append(f"<{tag}> names an attribute twice")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.faults.append(f"</{tag}> closes {self.open[-1:]}, line {self.getpos()[0]}")
        else:
            self.open.pop()

    def handle_data(self, data):
        if "style" not in self.open:
            self.shown.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self):
        return "".join(self.shown)


def browser():
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


class PageTest(FolderTest):
    def run_report(self, *arguments):
        return subprocess.run([PYTHON, os.path.join(PLOTS, "report.py"), *arguments], capture_output=True, text=True,
                              errors="replace")

    def page_of(self, *reports, status=0):
        result = self.run_report(*self.written(reports), "--html", self.path("page.html"), "--force")
        self.assertEqual(result.returncode, status, result.stderr)
        with open(self.path("page.html"), encoding="utf-8") as file:
            text = file.read()
        page = Page(text)
        self.assertEqual(page.faults, [])
        self.assert_alone(page, text)
        return page

    def assert_alone(self, page, text):
        """It runs no script and loads nothing but what it holds."""
        names = {name for name, _ in page.elements}
        self.assertEqual(names & {"script", "link", "iframe", "object", "embed", "base", "form", "svg", "audio", "video"},
                         set())
        for name, attributes in page.elements:
            for key, value in attributes.items():
                self.assertFalse(key.startswith("on"), f"<{name} {key}>")
                if key in ("src", "srcset", "data", "action", "style", "background"):
                    self.assertEqual((name, key), ("img", "src"))
                    self.assertTrue(value.startswith("data:image/svg+xml;base64,"), value[:80])
                if key == "href":
                    self.assertTrue(value.startswith("#report-"), value)
        style = text[text.index("<style>"):text.index("</style>")]
        self.assertNotIn("url(", style)
        self.assertNotIn("@import", style)
        self.assertIn("default-src 'none'", page.all("meta")[2]["content"])

    def pictures(self, page):
        return [base64.b64decode(image["src"].partition(",")[2]).decode() for image in page.all("img")]

    def summary_rows(self, page):
        return [attributes["href"] for attributes in page.all("a") if attributes.get("href", "").startswith("#report-")]


class Content(PageTest):
    def test_has_a_row_and_a_section_for_each_report(self):
        page = self.page_of(made_up_report(), scaling_report(1, 10.0), scaling_report(2, 18.0))
        self.assertEqual(self.summary_rows(page), ["#report-1", "#report-2", "#report-3"])
        sections = [a["id"] for a in page.all("article")]
        self.assertEqual(sections, ["report-1", "report-2", "report-3"])
        self.assertIn("3 reports, all verified", page.text())

    def test_says_what_the_reports_say(self):
        text = self.page_of(made_up_report(), scaling_report(2, 18.25)).text()
        for words in ["solves/s", "a check", "1e-13", "1e-12", "bicgstab", "hopping", "18.25", "60.0", "30.0", "000000000000",
                      "none"]:
            self.assertIn(words, text)

    def test_names_class_order_mesh_and_date_of_a_run(self):
        report = made_up_report()
        report.update(app="nodal-dg", solves=[], observables={}, run={"date": "2026-03-04T05:06:07Z"},
                      **{"class": {"name": "device", "conforms": True}},
                      figures=[operator_figure(operator="maxwell", lattice=[0, 0, 0, 0], order=7, elements=384)])
        report["parameters"].update(order=7, box=[4, 4, 4], equations="maxwell", precision="double")
        from_file = {**report, "parameters": {**report["parameters"], "mesh": "sphere.msh"}, "class": {"name": "node", "conforms": False}}
        text = self.page_of(report, from_file).text()
        for words in ("device", "node, DOES NOT conform", "order 7, box 4×4×4 (384 elements), maxwell, double",
                      "order 7, sphere.msh (384 elements)", "2026-03-04 05:06"):
            self.assertIn(words, text)

    def test_remarks_on_noise_as_validate_does(self):
        loaded = scaling_report(1, 10.0)
        loaded["machine"].update(logical_cpus=2, threads=1)
        loaded["run"] = {"load": 7.5}
        text = self.page_of(loaded, scaling_report(2, 140.0)).text()
        self.assertIn("Remark: load: 7.5 processes ran on the host in the minute before, and the run has 2 cores", text)
        loaded["machine"].update(ranks_on_host=2)  # not bound: both run on the same two cores
        self.assertIn("and the run has 2 cores", self.page_of(loaded, scaling_report(2, 140.0)).text())
        self.assertIn("Remark: noisy: 'hopping double' took 0.0001 to 0.0002 s", text)
        self.assertIn("Remark: strong scaling, ranks of 1 thread: an efficiency of 700% says", text)
        quiet = [scaling_report(1, 10.0), scaling_report(2, 19.0)]
        for report in quiet:
            report["figures"][0]["seconds"]["max"] = 1.2e-4
        self.assertNotIn("Remark: ", self.page_of(*quiet).text())

    def test_sweeps_remark_on_noise_too(self):
        paths = self.written([scaling_report(1, 10.0), scaling_report(2, 140.0)])
        row = subprocess.run([PYTHON, "-c", "import sys, sweep_engine; sweep_engine.print_doubts(sys.argv[1])", paths[0]],
                             capture_output=True, text=True, cwd=PLOTS)
        self.assertIn("remark: noisy: 'hopping double' took 0.0001 to 0.0002 s\n", row.stdout, row.stderr)
        drawn = self.run_script("scaling.py", *paths, "--output", self.path("scaling.png"))
        self.assertIn("remark     strong scaling, ranks of 1 thread: an efficiency of 700% says", drawn.stdout, drawn.stderr)

    def test_draws_what_there_is(self):
        page = self.page_of(made_up_report())
        self.assertEqual(len(page.all("img")), 2)  # convergence, effective mass
        page = self.page_of(made_up_report(), scaling_report(1, 10.0), scaling_report(2, 18.0))
        self.assertEqual(len(page.all("img")), 4)  # scaling and operators as well
        for image, picture in zip(page.all("img"), self.pictures(page)):
            self.assertTrue(image["alt"])
            self.assertIn("<svg ", picture)
            self.assertGreater(picture.count("<path"), 10)
        bare = scaling_report(1, 10.0)
        bare["figures"] = []
        self.assertEqual(len(self.page_of(bare).all("img")), 0)

    def test_has_a_convergence_figure_of_each_program_that_converges(self):
        def report_of(app, **observables):
            return {**made_up_report(), "app": app, "solves": [], "observables": observables}
        waves = [report_of("nodal-dg", energy={"history": [[0.0, 2.0], [0.5, 1.9]]}, relative_error=error, nodes=nodes)
                 for nodes, error in ((1000, 0.1), (8000, 0.01))]
        chain = report_of("hmc", dh=[0.1, -0.2], plaquette=[0.55, 0.56], accepted=[True, False], forces={},
                          warm_up=[{"dh": 0.3, "plaquette": 0.5}])
        solvers = [{**made_up_report(), "app": app} for app in ("mixed-precision-solver", "multigrid", "overlap-propagator")]
        page = self.page_of(*waves, chain, *solvers, scaling_report(1, 10.0))
        captions = re.findall(r"Convergence: [\w-]+(?:, \w+\.json)?", page.text())
        self.assertEqual(captions, ["Convergence: nodal-dg", "Convergence: hmc, 2.json", "Convergence: mixed-precision-solver",
                                    "Convergence: multigrid", "Convergence: overlap-propagator"])
        picture = self.pictures(page)[0]
        self.assertNotEqual(picture, self.pictures(self.page_of(waves[0]))[0])
        self.assertEqual(len(self.page_of(report_of("nodal-dg"), report_of("hmc")).all("img")), 0)

    def test_marks_failures(self):
        page = self.page_of(made_up_report(), failed_report(), status=1)
        self.assertIn("1 of 2 reports FAILED verification", page.text())
        failed = [attributes for attributes in page.all("tr") if attributes.get("class") == "failed"]
        self.assertEqual(len(failed), 2)  # the report's row, and its check's
        self.assertIn("a failed check", page.text())

    def test_is_not_made_of_a_report_that_contradicts_itself(self):
        report = failed_report()
        report["verified"] = True
        for contradicting in (report, {**made_up_report(), "verified": "yes"}):
            result = self.run_report(*self.written([contradicting]), "--html", self.path("page.html"))
            self.assertEqual(result.returncode, 2, result.stdout)
            self.assertFalse(os.path.exists(self.path("page.html")))

    def test_shows_hostile_text_as_text(self):
        text = self.page_of(*map(hostile_report, HOSTILE)).text()
        for hostile in filter(str.isprintable, HOSTILE):
            with self.subTest(text=hostile):
                self.assertGreater(text.count(hostile), 10)

    def test_takes_reports_with_odd_or_missing_parts(self):
        self.page_of(odd_report(), status=0)

    def test_the_same_reports_make_the_same_pictures(self):
        reports = [made_up_report(), scaling_report(1, 10.0)]
        self.assertEqual(self.pictures(self.page_of(*reports)), self.pictures(self.page_of(*reports)))


class File(PageTest):
    def test_is_not_overwritten_unasked(self):
        with open(self.path("page.html"), "w", encoding="utf-8") as file:
            file.write("mine")
        arguments = [*self.written([made_up_report()]), "--html", self.path("page.html")]
        result = self.run_report(*arguments)
        self.assertEqual(result.returncode, 5)
        self.assertIn("page.html", result.stderr)
        with open(self.path("page.html"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")
        self.assertEqual(self.run_report(*arguments, "--force").returncode, 0)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["0.json", "page.html"])

    def test_that_cannot_be_written_is_said_in_a_line(self):
        result = self.run_report(*self.written([made_up_report()]), "--html", self.path("no/where.html"))
        self.assertEqual(result.returncode, 5)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_is_not_written_of_what_is_no_report(self):
        with open(self.path("bad.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        result = self.run_report(self.path("bad.json"), "--html", self.path("page.html"))
        self.assertEqual(result.returncode, 2)
        self.assertFalse(os.path.exists(self.path("page.html")))


#: Run in a frame around the page: what a reader would see, as one line of JSON in the frame's own document.
PROBE = """<!DOCTYPE html><html><head><meta charset="utf-8"></head><body><iframe id="page" srcdoc="%s" width="%d" height="2000"></iframe>
<pre id="found"></pre><script>
const frame = document.getElementById("page");
frame.onload = () => {
  const page = frame.contentDocument, root = page.documentElement;
  const found = { title: page.title, rows: page.querySelectorAll("#summary tbody tr").length,
    images: [...page.images].map(i => [i.complete, i.naturalWidth, i.naturalHeight, i.clientWidth]),
    width: root.clientWidth, needed: root.scrollWidth, scripts: page.scripts.length,
    loaded: frame.contentWindow.performance.getEntriesByType("resource").map(e => e.name).filter(n => !n.startsWith("data:")) };
  document.getElementById("found").textContent = JSON.stringify(found);
};
</script></body></html>"""


@unittest.skipUnless(browser(), "no chromium or google-chrome was found: the page is not shown by a browser")
class Browser(PageTest):
    def headless(self, address, *arguments):
        home = self.path("home")
        settings = dict(os.environ, HOME=home, XDG_CONFIG_HOME=home, XDG_CACHE_HOME=home)
        os.makedirs(home, exist_ok=True)
        result = subprocess.run([browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                 "--no-first-run", "--disable-background-networking", "--enable-logging=stderr",
                                 f"--user-data-dir={home}", *arguments, address], capture_output=True, text=True,
                                errors="replace", env=settings, timeout=90)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def console(self, result):
        """What the page's console said; the browser's own complaints about this machine are none of ours."""
        return [line for line in result.stderr.split("\n") if "CONSOLE" in line]

    def test_shows_the_page(self):
        reports = [made_up_report(), scaling_report(1, 10.0), scaling_report(2, 18.0), failed_report(),
                   hostile_report(HOSTILE[0])]
        self.page_of(*reports, status=1)
        plain = self.headless("file://" + self.path("page.html"), "--dump-dom")
        self.assertEqual(self.console(plain), [])
        self.assertIn("FAILED verification", plain.stdout)
        with open(self.path("page.html"), encoding="utf-8") as file:
            text = file.read()
        for width in (1200, 380):
            with open(self.path("probe.html"), "w", encoding="utf-8") as file:
                file.write(PROBE % (html.escape(text, quote=True), width))
            result = self.headless("file://" + self.path("probe.html"), "--dump-dom", "--virtual-time-budget=4000")
            self.assertEqual(self.console(result), [])
            found = json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', result.stdout, re.DOTALL)[1]))
            self.assertEqual(found["title"], "Plaquette: results")
            self.assertEqual(found["rows"], len(reports))
            self.assertEqual(found["scripts"], 0)
            self.assertEqual(found["loaded"], [])
            self.assertGreaterEqual(len(found["images"]), 4)
            for complete, natural_width, natural_height, shown_width in found["images"]:
                self.assertTrue(complete)
                self.assertGreater(min(natural_width, natural_height), 100)
                self.assertGreater(shown_width, 0.5 * min(width, 500))
            self.assertLessEqual(found["needed"], found["width"])  # wide tables scroll by themselves


if __name__ == "__main__":
    if PYTHON is None:
        print("skipped: no Python with numpy, matplotlib and jinja2")
        sys.exit(SKIPPED)
    if not browser():
        print("no chromium or google-chrome was found: the page is not shown by a browser")
    unittest.main()
