"""A kernel edited in place: new parameters, the guard around its work, the live count."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from pallas_static_grid.analysis.kernel_facts import GridRead, KernelFacts, StatementFacts
from pallas_static_grid.analysis.kernel_reads import all_parameters
from pallas_static_grid.model import Edit, Span
from pallas_static_grid.rewrite.edits import insertion
from pallas_static_grid.rewrite.locate import FunctionNode, function_at
from pallas_static_grid.rewrite.names import fresh
from pallas_static_grid.rewrite.syntax import (
    indentation,
    indented,
    insert_before,
    insert_parameter,
    line_end,
    line_start,
    newline_of,
    wrap_body,
)
from pallas_static_grid.transforms.masking.draft import Draft
from pallas_static_grid.transforms.masking.guard import (
    Keep,
    comment,
    function_name,
    guard_header,
    keep_blocks,
    live_condition,
)
from pallas_static_grid.transforms.masking.sparing import spare_refs, spared_statement

_ABOVE = frozenset({"docstring", "del", "program_id", "unpack", "pure"})


@dataclass(frozen=True, slots=True)
class BodyPlan:
    """How a body is cut: what stays above the guard, what moves there."""

    above: int
    """The first so many statements stay above the guard."""
    lifted: tuple[int, ...]
    """Statements `i = pl.program_id(0)` further down, moved above it."""
    optional: bool = False
    """Whether other launches use the kernel: the count is then a keyword that may be left out."""


def body_plan(kernel: KernelFacts) -> BodyPlan:
    """Where the guard goes."""
    statements = kernel.statements
    bound = [
        name for statement in statements if statement.kind != "del" for name in statement.binds
    ]

    def stays(statement: StatementFacts) -> bool:
        if statement.kind not in _ABOVE:
            return False
        return statement.kind == "del" or all(bound.count(name) == 1 for name in statement.binds)

    above = 0
    while above < len(statements) and stays(statements[above]):
        above += 1
    lifted = tuple(
        index
        for index, statement in enumerate(statements)
        if index >= above
        and (
            (statement.kind == "program_id" and stays(statement))
            or (statement.kind == "del" and _unused(statements, index, above))
        )
    )
    if above == len(statements):
        above = min(above, _first_work(statements))
    return BodyPlan(above, tuple(index for index in lifted if index >= above))


def _unused(statements: tuple[StatementFacts, ...], index: int, above: int) -> bool:
    """Whether what a `del` deletes is mentioned nowhere else below the guard."""
    names = set(statements[index].binds)
    return not any(
        names & statement.mentions
        for place, statement in enumerate(statements)
        if place >= above and place != index
    )


def _first_work(statements: tuple[StatementFacts, ...]) -> int:
    """A kernel without any work keeps its last statement below the guard."""
    return max(len(statements) - 1, 0)


def rebound_names(kernel: KernelFacts, plan: BodyPlan) -> tuple[str, ...]:
    """Names from above the guard that its body binds or deletes (they become local to it)."""
    outside = {ref.name for ref in kernel.refs} | {kernel.variadic}
    for index, statement in enumerate(kernel.statements):
        if (index < plan.above or index in plan.lifted) and statement.kind != "del":
            outside.update(statement.binds)
    inside = [
        statement
        for index, statement in enumerate(kernel.statements)
        if index >= plan.above and index not in plan.lifted and not spared_statement(statement)
    ]
    below = [name for statement in inside for name in statement.binds]
    used = {name for statement in inside for name in statement.loads | statement.deletes}
    # A name that is bound and never read may as well be local to the guard.
    return tuple(dict.fromkeys(name for name in below if name in outside and name in used))


def guard_shared_body(draft: Draft, plan: BodyPlan) -> str:
    """Guard a kernel that others use too, by a keyword that they leave out; gives the keyword."""
    kernel = draft.shape.kernel
    assert kernel.span is not None
    axis = draft.dynamic[0].index
    present = _present_keyword(kernel, axis)
    if present is not None:
        return present
    keyword = fresh(kernel.names, draft.names[axis].count, "num_live_steps")
    node = function_at(draft.module, kernel.span)
    star = "" if kernel.keyword_only or kernel.variadic is not None else "*, "
    places = len(all_parameters(node)) + (1 if kernel.keyword_only and not kernel.variadic else 0)
    draft.add(insert_parameter(draft.module, node, places, f"{star}{keyword}=None"))
    wrapper_reads = dict(draft.reads)
    draft.reads[axis] = keyword
    guard_body(draft, plan, (), [])
    draft.reads.update(wrapper_reads)
    return keyword


def _present_keyword(kernel: KernelFacts, axis: int) -> str | None:
    """The keyword by which the kernel takes a count already, from an earlier rewrite."""
    steps = [r.bound_to for r in kernel.named_in_body("program_id") if r.axis == axis]
    for statement in kernel.statements:
        text = "" if statement.condition is None else statement.condition.text
        for keyword in kernel.keyword_only:
            head = f"True if {keyword} is None else "
            if any(text == f"{head}{step} < {keyword}" for step in steps):
                return keyword
    return None


def guard_body(draft: Draft, plan: BodyPlan, keeps: tuple[Keep, ...], new_refs: list[str]) -> None:
    """Add the edits of the kernel."""
    kernel = draft.shape.kernel
    assert kernel.span is not None
    node = function_at(draft.module, kernel.span)
    typed = _ref_annotation(draft, node)
    for name in new_refs:
        draft.add(insert_parameter(draft.module, node, kernel.first_ref, name + typed))
    hoisted, steps = _steps(draft, plan)
    for read in kernel.reads:
        replaced = _replacement(draft, plan, read, steps)
        if replaced is not None and replaced != read.code.text:
            draft.add([Edit(read.code.span, replaced)])
    _wrap(draft, node, plan, keeps, hoisted, steps)


def _ref_annotation(draft: Draft, node: FunctionNode) -> str:
    """The annotation that all refs of the kernel have, if it is one plain name."""
    args = [*node.args.posonlyargs, *node.args.args][draft.shape.kernel.first_ref :]
    given = [arg.annotation for arg in args if isinstance(arg.annotation, ast.Name | ast.Attribute)]
    texts = {draft.module.segment(annotation) for annotation in given}
    return f": {texts.pop()}" if len(texts) == 1 and len(given) == len(args) else ""


def _steps(draft: Draft, plan: BodyPlan) -> tuple[list[str], dict[int, str]]:
    """Lines that read the steps above the guard, and what each axis' step is called there."""
    kernel = draft.shape.kernel
    reads = kernel.named_in_body("program_id")
    steps: dict[int, str] = {}
    for read in reads:
        above = (read.statement or 0) < plan.above or read.statement in plan.lifted
        if above and read.bound_to is not None and read.axis is not None:
            steps.setdefault(read.axis, read.bound_to)
    pl = _pallas(draft)
    taken = set(kernel.names) | set(steps.values())
    lines: list[str] = []
    inside = {
        read.axis
        for read in reads
        if read.axis is not None
        and (read.statement or 0) >= plan.above
        and read.statement not in plan.lifted
    }
    for axis in sorted(inside - steps.keys()):
        wanted = ("step",) if draft.shape.axes[axis].dynamic else ()
        name = fresh(frozenset(taken), *wanted, f"step_{axis}")
        taken.add(name)
        steps[axis] = name
        lines.append(f"{name} = {pl}.program_id({axis})")
    for axis_facts in draft.dynamic:
        steps.setdefault(axis_facts.index, f"{pl}.program_id({axis_facts.index})")
    return lines, steps


def _pallas(draft: Draft) -> str:
    kernel = draft.shape.kernel
    assert kernel.span is not None
    at = function_at(draft.module, kernel.span)
    body = at.body if isinstance(at.body, list) else [at.body]
    return draft.name_of("jax.experimental.pallas", body[0])


def _replacement(draft: Draft, plan: BodyPlan, read: GridRead, steps: dict[int, str]) -> str | None:
    """What stands in place of a read, or None where it stays."""
    if read.kind == "num_programs":
        live = draft.reads.get(read.axis) if read.axis is not None else None
        if live is None or not plan.optional:
            return live
        return f"({read.code.text} if {live} is None else {live})"
    if read.axis is None or (read.statement or 0) < plan.above or read.statement in plan.lifted:
        return None
    return steps[read.axis]


def _wrap(
    draft: Draft,
    node: FunctionNode,
    plan: BodyPlan,
    keeps: tuple[Keep, ...],
    hoisted: list[str],
    steps: dict[int, str],
) -> None:
    assert not isinstance(node, ast.Lambda)
    module, text = draft.module, draft.module.text
    pl = _pallas(draft)
    kernel = draft.shape.kernel
    condition = live_condition(draft, steps)
    if plan.optional:
        condition = f"True if {draft.reads[draft.dynamic[0].index]} is None else {condition}"
    name = fresh(kernel.names, function_name(draft))
    for index, line in draft.count_lines:
        draft.add(insert_before(module, node.body[index], line, draft.unit))
    handed = {name for keep in keeps for name in (keep.in_ref, keep.out_ref)}
    deleting = [i for i in plan.lifted if handed & kernel.statements[i].deletes]
    plan = replace(plan, lifted=tuple(i for i in plan.lifted if i not in deleting))
    spared = spare_refs(draft, handed, plan.above, frozenset(plan.lifted))
    removed, lifted = _lift(draft, plan)
    draft.add(spared.edits)
    removed = _with_blank_lines(text, removed + spared.lines)
    before = lifted + hoisted
    dead = ""
    if any(not keep.only_when_empty for keep in keeps):
        live = fresh(kernel.names, "is_live")
        before.append(f"{live} = {condition}")
        condition = live
        dead = f"{_jnp(draft, node)}.logical_not({live})"
    header = guard_header(pl, condition, name, comment(draft))
    if before and plan.above:
        _, end = module.span(node.body[plan.above - 1])
        indent = indentation(text, module.span(node.body[plan.above - 1])[0])
        lines = newline_of(text) + indented("\n".join(before), indent, newline_of(text))
        draft.add([insertion(line_end(text, end), lines)])
    elif before:
        header = "\n".join(before) + "\n\n" + header
    wrapped = wrap_body(module, node, header, first=plan.above, unit=draft.unit)
    gone = {span.start for span in removed}
    stays = [e for e in wrapped if not (e.span.start in gone and e.text == draft.unit)]
    if not before and spared.none_above:
        # Nothing is left above the guard: no blank line either.
        stays = [e for e in stays if e.text != newline_of(text)]
    draft.add(stays)
    draft.add([Edit(span, "") for span in removed])
    tails = keep_blocks(draft, pl, dead, keeps, draft.unit)
    if tails:
        _, end = module.span(node.body[-1])
        indent = indentation(text, module.span(node.body[0])[0])
        newline = newline_of(text)
        block = "".join(newline + newline + indented(tail, indent, newline) for tail in tails)
        draft.add([insertion(line_end(text, end), block)])


def _jnp(draft: Draft, node: FunctionNode) -> str:
    body = node.body if isinstance(node.body, list) else [node.body]
    return draft.name_of("jax.numpy", body[0])


def _lift(draft: Draft, plan: BodyPlan) -> tuple[list[Span], list[str]]:
    """The lines of the lifted statements: where they go from, and what they say."""
    text = draft.module.text
    newline = len(newline_of(text))
    spans: list[Span] = []
    lines: list[str] = []
    for index in plan.lifted:
        span = draft.shape.kernel.statements[index].span
        start, end = line_start(text, span.start), line_end(text, span.end)
        lines.append(text[span.start : end])
        spans.append(Span(start, end + newline))
    return spans, lines


def _with_blank_lines(text: str, spans: list[Span]) -> list[Span]:
    """The spans of whole lines, with the blank line below where there is one above as well."""
    newline = len(newline_of(text))
    starts = {span.start for span in spans}
    out: list[Span] = []
    for span in spans:
        first = span.start
        while any(other.end == first for other in spans):
            first = next(other.start for other in spans if other.end == first)
        blank_above = not text[line_start(text, max(first - 1, 0)) : first].strip()
        blank_below = not text[span.end : line_end(text, span.end)].strip()
        whole = blank_above and blank_below and span.end not in starts
        out.append(Span(span.start, line_end(text, span.end) + newline) if whole else span)
    return out


__all__ = ["BodyPlan", "body_plan", "guard_body", "guard_shared_body", "rebound_names"]
