"""Mutants of what is checked and proved of nodes that hold workflows."""

from __future__ import annotations

from tests.proofs.mutants import Mutant

__all__ = ["MUTANTS"]

DECLARED = (
    Mutant(
        "branches may give one field",
        "joins.given_once",
        "checks.joins:given_once",
        "len(givers) < 2",
        "len(givers) < 3",
        ("two writers",),
    ),
    Mutant(
        "what was given may come back as if it were new",
        "joins.added_once",
        "checks.joins:_comes_back",
        "if source not in given or",
        "if source in given or",
        ("added again",),
    ),
    Mutant(
        "failures may go anywhere",
        "joins.reported",
        "checks.joins:_refuses",
        '== "never fits"',
        '== "fits"',
        ("failures as texts",),
    ),
    Mutant(
        "a function that gives items may take anything",
        "items.sources",
        "checks.items:sources",
        "if not takes(kind.over, 1):",
        "if False:",
        ("items for nobody",),
    ),
    Mutant(
        "anything can be gone through",
        "items.lists",
        "fit.items:_look",
        "case Plain() |",
        "case",
        ("items of a text",),
    ),
    Mutant(
        "items may be of any type",
        "items.taken_items",
        "checks.items:taken_items",
        'relation(item, wanted) == "never fits"',
        "False",
        ("items of another type",),
    ),
    Mutant(
        "None can be gone through",
        "items.present",
        "checks.items:present",
        "& walk.picture.domain(kind.over).none",
        "& 0",
        ("items that may be None",),
    ),
)

POLICIES = (
    Mutant(
        "siblings do not begin before a branch has ended",
        "policies.declared",
        "proof.inside:Inside._beside",
        "self._each(busy, seen, self._touched), said",
        "seen, said",
        ("all at once, one less", "all at once, one is cancelled", "the first to end, one less"),
    ),
    Mutant(
        "of siblings only those that end well count",
        "policies.declared",
        "proof.inside:Inside._beside",
        "self._each(busy, seen, self._touched), said",
        "self._each(busy, seen, self._ended), said",
        ("all at once, one less", "the first to end, one less"),
    ),
    Mutant(
        "a failed branch has done what it should",
        "policies.declared",
        "proof.inside:Inside.passage",
        "after: int | None = self._each(branches, seen, self._touched)",
        "after: int | None = self._each(branches, seen, self._ended)",
        ("all ended or failed",),
    ),
    Mutant(
        "the node goes on although a branch has failed",
        "policies.declared",
        "proof.inside:Inside.passage",
        "after = self._each(branches, seen, self._ended) if ends else None",
        "after = self._each(branches, seen, self._touched)",
        ("all ended well",),
    ),
    Mutant(
        "the first of a race need not end well",
        "policies.declared",
        "proof.inside:Inside._first",
        "after = self._ended(winner, others)",
        "after = self._touched(winner, others)",
        ("the first to end",),
    ),
    Mutant(
        "there is always an item",
        "policies.declared",
        "proof.inside:Inside._items",
        "return self.worse(seen, self._repeated(kind.branch, ended, self._touched, under_way))",
        "return self._repeated(kind.branch, ended, self._touched, under_way)",
        ("perhaps no item",),
    ),
    Mutant(
        "one item more is under way",
        "policies.declared",
        "proof.inside:Inside._beside",
        "kind.concurrency - 1",
        "kind.concurrency",
        ("one item at a time",),
    ),
    Mutant(
        "one item less is under way",
        "policies.declared",
        "proof.inside:Inside._beside",
        "kind.concurrency - 1",
        "kind.concurrency - 2",
        ("two items at a time, one less",),
    ),
    Mutant(
        "there are more items than there may be",
        "policies.declared",
        "proof.inside:Inside._beside",
        "max(0, kind.max_items - 1)",
        "kind.max_items",
        ("two items at a time", "one item at a time"),
    ),
    Mutant(
        "collecting or not is the same to items",
        "policies.declared",
        "proof.inside:Inside._items",
        'kind.on_branch_error == "collect"',
        "False",
        ("items that may fail",),
    ),
)

BOUNDS = (
    Mutant(
        "whatever fails goes no further than what ends well",
        "bounds of a workflow",
        "cost:_once",
        "every = _sum([part.most for part in parts])",
        "every = _sum([part.well for part in parts])",
        ("all at once",),
    ),
    Mutant(
        "who has failed in the worst way has ended well",
        "bounds of a workflow",
        "cost:_once",
        "_Amount(every, _sum([part.well for part in parts]))",
        "_Amount(every, every)",
        ("all at once",),
    ),
    Mutant(
        "the winner of a race goes its longest way",
        "bounds of a workflow",
        "cost:_once",
        "+ winner.well",
        "+ winner.most",
        ("the first to end",),
    ),
    Mutant(
        "all items run out of rounds",
        "bounds of a workflow",
        "cost:_of_items",
        "before = ended.times(kind.max_items - together)",
        "before = item.most.times(kind.max_items - together)",
        ("two items at a time", "one item at a time"),
    ),
    Mutant(
        "no item fails",
        "bounds of a workflow",
        "cost:_of_items",
        "item.most.times(together)",
        "ended.times(together)",
        ("two items at a time",),
    ),
    Mutant(
        "a visit that is followed by another has gone its longest way",
        "bounds of a workflow",
        "proof.longest:_Longest._inside",
        'weights.most if step.kind == "error" else weights.well',
        "weights.most",
        ("all at once", "the first to end"),
    ),
)

MUTANTS = (*DECLARED, *POLICIES, *BOUNDS)
