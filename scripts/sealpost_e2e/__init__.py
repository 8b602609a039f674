"""End-to-end checks: `programs/` verify what the product promises, `benches/` measure its speed.

`scripts/e2e run NAME` runs a module of them; its docstring says what it tests and when it fails.
"""
