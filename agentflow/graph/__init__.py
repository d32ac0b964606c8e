"""What may happen: definitions and their proofs. Pure data; no I/O, no async, no clock."""
