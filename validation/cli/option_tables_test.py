# SPDX-License-Identifier: BSD-3-Clause
"""The tables of options in READMEs are what tools/option_tables.py writes from the programs."""
import os
import sys
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.append(os.path.join(ROOT, "tools"))
import option_tables  # noqa: E402

PROGRAMS = os.environ["PLAQUETTE_PROGRAMS"].split(",")
ROW = {"section": "A", "of_all_programs": False, "option": "--kind", "type": "a|b", "default": "a",
       "help": "Of |x|, see --size_s", "keys": ["kind", "k"]}
SHARED = dict(ROW, section="Machine", of_all_programs=True, option="--threads", type="N", default="0", help="Threads", keys=[])


class Tables(unittest.TestCase):
    def test_in_the_readmes_are_those_of_the_programs(self):
        for name, (now, text) in option_tables.written(PROGRAMS).items():
            with self.subTest(name=name):
                self.assertEqual(now, text, f"run tools/option_tables.py {' '.join(PROGRAMS)}")

    def test_have_a_row_an_option(self):
        self.assertEqual(option_tables.table([ROW])[-1], "| `--kind a\\|b` | `a` | Of \\|x\\|, see `--size`\\_s | `kind`, `k` |")

    def test_of_all_programs_stand_once_with_the_default_of_most(self):
        other = dict(SHARED, default="2")
        shared = option_tables.shared_rows([[ROW, SHARED], [other], [SHARED]])
        self.assertEqual(shared, [SHARED])
        self.assertEqual([line for line in option_tables.own_table([ROW, other], shared) if "threads" in line],
                         ["Other defaults of these: `--threads` `2`."])
        self.assertIn("Not here: `--threads`.",
                      option_tables.own_table([ROW, dict(SHARED, option="--seed")], shared + [dict(SHARED, option="--seed")]))

    def test_of_all_programs_have_an_option_once_if_its_sections_differ(self):
        other = dict(SHARED, section="Output")
        self.assertEqual(option_tables.shared_rows([[SHARED], [other]]), [SHARED])

    def test_say_which_defaults_of_all_programs_a_program_has_not(self):
        lines = option_tables.own_table([ROW, dict(SHARED, default="")], [SHARED])
        self.assertEqual(lines[-1], "Other defaults of these: `--threads` none.")

    def test_that_were_changed_by_hand_are_found(self):
        with tempfile.TemporaryDirectory() as root:
            texts = {name: now for name, (now, _) in option_tables.written(PROGRAMS).items()}
            for name, text in texts.items():
                os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text.replace("Overwrite output files", "Keep output files"))
            changed = [name for name, (now, text) in option_tables.written(PROGRAMS, root).items() if now != text]
            self.assertEqual(changed, [name for name, text in texts.items() if "Overwrite output files" in text])
            self.assertTrue(changed)

    def test_need_their_comments(self):
        with self.assertRaises(ValueError):
            option_tables.replaced("no comments", [], "README.md")


if __name__ == "__main__":
    unittest.main()
