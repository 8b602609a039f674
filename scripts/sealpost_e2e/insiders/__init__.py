"""What `scripts/e2e run insiders` is made of: a daemon with its providers, honest users who are watched, and the moves."""
