"""All moves, in the order of their execution."""

from sealpost_e2e.insiders.insider import MOVES
from sealpost_e2e.insiders.moves import addresses, accounts, sending, reading  # noqa: F401

ALL = MOVES
