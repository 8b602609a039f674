// The package needs a file in each target.
