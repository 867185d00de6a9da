"""The algebra of curves: one operation a file, loaded when it is first used."""
