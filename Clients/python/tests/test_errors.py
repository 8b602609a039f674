import pathlib
import re
import unittest

from sealpost import Denied, Overloaded, Refused, ServerFault, StateChanged
from sealpost.errors import PREFIX, problem

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/errors.md"
# The first column of the page's table begins with these statuses.
CLASSES = {400: Refused, 401: Denied, 404: StateChanged, 408: Overloaded, 421: ServerFault}


class ErrorTests(unittest.TestCase):
    def test_a_problem_has_the_class_of_the_row_in_docs_errors(self):
        rows = re.findall(r"^\| ([0-9, ]+) \|", PAGE.read_text(), re.MULTILINE)
        self.assertEqual(len(rows), len(CLASSES))
        for row in rows:
            statuses = [int(status) for status in row.split(", ")]
            for status in statuses:
                error = problem({"type": f"{PREFIX}any-code", "title": "A title", "status": status}, status)
                self.assertIs(type(error), CLASSES[statuses[0]], status)
                self.assertEqual(error.code, "any-code")

    def test_only_a_problem_of_sealpost_with_the_status_of_the_answer_is_one(self):
        good = {"type": f"{PREFIX}not-found", "title": "Not found", "status": 404}
        problem(good, 404)
        for value in ({**good, "status": 400}, {**good, "type": "about:blank"}, {**good, "type": 7}, {}, [], None, "text"):
            with self.subTest(value=value), self.assertRaises(ValueError):
                problem(value, 404)


if __name__ == "__main__":
    unittest.main()
