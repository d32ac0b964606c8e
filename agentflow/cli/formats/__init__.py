"""The formats of an examination: one file each, a pure function from what was found to what is written."""
