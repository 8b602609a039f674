"""The whole product, tried from outside: `programs/` say whether it does what it promises, `benches/` how fast.

Each module there is one program that `scripts/e2e run NAME` runs: its first words say what it tries, and what fails it. What
programs share is in the modules beside this one.
"""
