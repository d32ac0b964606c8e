"""How findings are proved: a finite picture of a workflow's data, and every path through it.

- `domain` cuts what a field may hold into the few cases that the conditions of a workflow tell apart.
- `box` holds, for one path, which of these cases are possible, and splits it by conditions.
- `liveness` says which fields still matter at a node, so that paths that differ in nothing else are one.
- `points` names what a path is made of, `visit` says what may follow from a point, `explore` walks all paths: rounds, failures and
  limits as the engine treats them.
- `longest` adds up the worst case of walks in closed form.
"""
