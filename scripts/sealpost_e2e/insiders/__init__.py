"""Parts of the program `insiders`: a daemon with its providers, watched honest users, and the moves."""
