"""SymPy: formulas of trade-off functions, answers at symbols, and numbers in place of symbols."""
