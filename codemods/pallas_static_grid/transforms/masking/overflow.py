"""Bounds given by the user: a count beyond its bound must show in the result.

Only the user says that the bound is never exceeded, and steps beyond it are not run. Where the
count is concrete the rewritten code raises; under a transformation it fills the outputs.
"""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.kernel_facts import CallFacts
from pallas_static_grid.model import Edit, Span
from pallas_static_grid.rewrite.edits import insertion
from pallas_static_grid.rewrite.locate import call_at, expression_at
from pallas_static_grid.rewrite.names import fresh, path_to, taken_at
from pallas_static_grid.rewrite.syntax import insert_after
from pallas_static_grid.transforms.masking.draft import Draft
from pallas_static_grid.transforms.masking.texts import as_operand


def check_counts(draft: Draft, new_axes: tuple[int, ...]) -> str:
    """Wraps the launch's results; gives the lines of the function that checks the counts."""
    axes = [axis for axis in draft.dynamic if axis.bound_kind == "user"]
    if not axes:
        return ""
    at = expression_at(draft.module, draft.shape.call)
    taken = taken_at(draft.module.tree, at)
    nouns = [draft.names[axis.index].noun for axis in axes]
    name = fresh(taken, f"check_num_{'_and_'.join(nouns)}")
    tests: list[str] = []
    for axis in axes:
        given = draft.counts[axis.index]
        count = draft.names[axis.index].count
        live = f"{count}[0]" if axis.index in new_axes else as_operand(given)
        tests.append(f"{live} <= {as_operand(axis.bound or '')}")
    fits = tests[0] if len(tests) == 1 else " & ".join(f"({test})" for test in tests)
    for call in draft.shape.calls:
        _wrap_result(draft, call, name, taken)
    return "\n".join(_lines(draft, at, name, fits, [axis.bound or "" for axis in axes], nouns))


def _lines(
    draft: Draft, at: ast.AST, name: str, fits: str, bounds: list[str], nouns: list[str]
) -> list[str]:
    jax = draft.name_of("jax", at)
    jnp = draft.name_of("jax.numpy", at)
    unit = draft.unit
    words = [noun.replace("_", " ") for noun in nouns]
    most = " or ".join(f"{b} {w}" for b, w in zip(bounds, words, strict=True))
    what = most if all(bound.isdigit() for bound in bounds) else f"the bound of the {words[0]}"
    body = [
        f'"""Work beyond {what} would be lost: raise, or fill the outputs under a trace."""',
        f"fits = {fits}",
        f"if not isinstance(fits, {jax}.core.Tracer) and not fits:",
        f'{unit}raise ValueError("the grid needs more than {what}")',
        "",
        "def flag(output):",
        f"{unit}if {jnp}.issubdtype(output.dtype, {jnp}.integer):",
        f"{unit * 2}return {jnp}.where(fits, output, {jnp}.iinfo(output.dtype).max)",
        f"{unit}return {jnp}.where(fits, output, {jnp}.array({jnp}.nan, output.dtype))",
        "",
        f"return {jax}.tree.map(flag, outputs)",
    ]
    return [f"def {name}(outputs):", *(f"{unit}{line}" if line else "" for line in body)]


def _wrap_result(draft: Draft, call: CallFacts, name: str, taken: frozenset[str]) -> None:
    """Pass the value of a call through the check."""
    module = draft.module
    node = call_at(module, call.span)
    parent = path_to(module.tree, node)[-1]
    start, end = module.span(node)
    if isinstance(parent, ast.Return):
        outputs = fresh(taken, "outputs")
        first = module.span(parent)[0]
        draft.add([Edit(Span(first, first + len("return")), f"{outputs} =")])
        draft.add(insert_after(module, parent, f"return {name}({outputs})"))
        return
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
        if isinstance(target, ast.Name):
            draft.add(insert_after(module, parent, f"{target.id} = {name}({target.id})"))
            return
    draft.add([insertion(start, f"{name}("), insertion(end, ")")])


__all__ = ["check_counts"]
