"""End-to-end checks: `programs/` verify what the product promises, `benches/` measure its speed.

`scripts/e2e run NAME` runs a module of them; its docstring says what it tests and when it fails.
"""


def require(holds, failure=1):
    """Ends the program with a text, or with an exit code, unless a condition holds."""
    if not holds:
        raise SystemExit(failure)
