// Without declarations: this module selects the code under "canImport(Darwin)". Foundation on
// Linux declares the names which that code uses.
