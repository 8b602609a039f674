// Nothing is declared: the linker finds the symbol by its name.
