"""A kernel wrapped at the launch: a nested def that holds the guard and calls it."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.kernel_facts import KernelFacts
from pallas_static_grid.model import Edit
from pallas_static_grid.rewrite.brackets import has_comment
from pallas_static_grid.rewrite.locate import expression_at, function_at
from pallas_static_grid.rewrite.names import fresh, taken_at
from pallas_static_grid.transforms.masking.draft import Draft
from pallas_static_grid.transforms.masking.guard import (
    Keep,
    comment,
    function_name,
    guard_header,
    keep_blocks,
    live_condition,
)
from pallas_static_grid.transforms.masking.refusing import refused

_MOST_NAMES = 8
"""A wrapper with more refs than that just hands them on."""


def wrapper_name(kernel: KernelFacts) -> str:
    """What the wrapper is called: `decay_kernel` -> `decay_live_kernel`."""
    if kernel.form == "lambda" or not kernel.name.strip("_"):
        return "live_kernel"
    stem = kernel.name.strip("_")
    if stem == "kernel":
        return "live_kernel"
    if stem.endswith("_kernel"):
        return f"{stem.removesuffix('_kernel')}_live_kernel"
    return f"live_{stem}"


def wrap_kernel(
    draft: Draft, keeps: tuple[Keep, ...], new_refs: list[str], refs: int, keyword: str | None
) -> str:
    """The wrapper's lines for the launch; replaces the kernel argument by its name.

    `refs` is how many operands and outputs there are apart from the new ones. `keyword`: the
    kernel guards itself if it is given the count by this keyword.
    """
    kernel = draft.shape.kernel
    at = expression_at(draft.module, draft.shape.call)
    name = fresh(taken_at(draft.module.tree, at), wrapper_name(kernel))
    names = _ref_names(kernel, refs, frozenset(new_refs))
    if not keeps and kernel.form != "lambda" and len(names) > _MOST_NAMES:
        names = ["*refs"]
    if keeps and names == ["*refs"]:
        raise refused(
            draft.shape,
            "aliased-output",
            "an output is aliased, and the wrapped kernel's refs have no names of their own",
        )
    pl = draft.name_of("jax.experimental.pallas", at)
    steps = {axis.index: f"{pl}.program_id({axis.index})" for axis in draft.dynamic}
    condition = live_condition(draft, steps)
    lines = [f"def {name}({', '.join([*new_refs, *names])}):"]
    dead = ""
    if any(not keep.only_when_empty for keep in keeps):
        live = fresh(frozenset({*names, *new_refs}) | kernel.names, "is_live")
        lines += [f"{draft.unit}{live} = {condition}", ""]
        condition = live
        dead = f"{draft.name_of('jax.numpy', at)}.logical_not({live})"
    indent = draft.unit
    if keyword is None:
        header = guard_header(pl, condition, function_name(draft), comment(draft))
        lines += [f"{draft.unit}{line}" for line in header.split("\n")]
        indent = draft.unit * 2
    given = [] if keyword is None else [f"{keyword}={draft.reads[draft.dynamic[0].index]}"]
    work = _work(draft, kernel, names, given)
    lines += [f"{indent}{line}" for line in work.split("\n")]
    for tail in keep_blocks(draft, pl, dead, keeps, draft.unit):
        lines += ["", *(f"{draft.unit}{line}" for line in tail.split("\n"))]
    draft.add([Edit(kernel.argument.span, name)])
    return "\n".join(lines)


def _ref_names(kernel: KernelFacts, refs: int, taken: frozenset[str]) -> list[str]:
    """The wrapper's parameters: the kernel's own names where they fit."""
    names = [ref.name for ref in kernel.refs if not ref.optional]
    if kernel.variadic is None and len(names) >= refs and not taken & set(names):
        return names
    return ["*refs"]


def _work(draft: Draft, kernel: KernelFacts, names: list[str], given: list[str]) -> str:
    """The call of the kernel, or the body of a lambda."""
    module = draft.module
    inline = kernel.span is not None and kernel.span == kernel.argument.span
    if kernel.form == "lambda" and inline and names != ["*refs"] and kernel.span is not None:
        node = function_at(module, kernel.span)
        body = node.body
        assert not isinstance(body, list)
        return module.segment(body)
    if kernel.partial is not None and kernel.partial.span == kernel.argument.span:
        inner = _partial_parts(draft, kernel)
        if inner is not None:
            function, before, after = inner
            return f"{function}({', '.join([*before, *names, *after, *given])})"
    argument = kernel.argument.text
    call = argument if kernel.form != "lambda" or not inline else f"({argument})"
    return f"{call}({', '.join([*names, *given])})"


def _partial_parts(draft: Draft, kernel: KernelFacts) -> tuple[str, list[str], list[str]] | None:
    """The function, positionals and keywords of a partial that is written at the launch."""
    assert kernel.partial is not None
    node = expression_at(draft.module, kernel.partial.span)
    if not isinstance(node, ast.Call) or not node.args:
        return None
    if not isinstance(node.args[0], ast.Name | ast.Attribute) or has_comment(
        draft.module.text, *draft.module.span(node)
    ):
        return None
    segments = [draft.module.segment(arg) for arg in node.args]
    keywords = [draft.module.segment(keyword) for keyword in node.keywords]
    return segments[0], segments[1:], keywords


__all__ = ["wrap_kernel", "wrapper_name"]
