"""What happens: one run of a workflow, from its input to its end."""
