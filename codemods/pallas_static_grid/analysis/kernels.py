"""What the kernel of a launch does, and how grid, specs, operands and outputs hang together."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.coverage import reaches_of
from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.kernel_body import (
    reach_outside,
    returned_value,
    statements_of,
)
from pallas_static_grid.analysis.kernel_facts import (
    Backend,
    Code,
    Form,
    KernelFacts,
    LaunchShape,
    ParameterFacts,
)
from pallas_static_grid.analysis.kernel_helpers import helper_reads
from pallas_static_grid.analysis.kernel_reads import (
    FunctionNode,
    all_parameters,
    look_up,
    reads_in,
)
from pallas_static_grid.analysis.launch_aliases import alias_keys
from pallas_static_grid.analysis.launch_axes import axes_of, grid_display
from pallas_static_grid.analysis.launch_counts import count_operands
from pallas_static_grid.analysis.launch_operands import (
    call_facts,
    operands_of,
    prefetch_count,
)
from pallas_static_grid.analysis.launch_outputs import outputs_of
from pallas_static_grid.analysis.launch_specs import specs_of
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.values import (
    Arg,
    External,
    Function,
    LaunchSite,
    Partial,
    Tuple,
    Value,
    is_none,
    options,
)
from pallas_static_grid.model import Span

_DMA = frozenset({"make_async_copy", "async_copy", "make_async_remote_copy", "async_remote_copy"})

_EFFECTS = frozenset(
    {
        "semaphore_signal",
        "semaphore_wait",
        "debug_print",
        "debug_callback",
        "debug_check",
        "pure_callback",
        "io_callback",
        "emit_pipeline",
        "atomic_add",
        "atomic_max",
        "atomic_min",
        "atomic_cas",
        "sync_copy",
        "prng_seed",
    }
)


def launch_shape(facts: LaunchFacts) -> LaunchShape | None:
    """All that a guard needs to know of a launch; None where its arguments are hidden."""
    site, module = facts.site, facts.module
    kernel_arg = site.args.get("kernel")
    kernel = kernel_facts(facts, kernel_arg) if kernel_arg is not None else None
    if kernel is None:
        return None
    specs = site.grid_specs()
    spec = specs[0] if len(specs) == 1 else None
    if site.args.get("grid_spec") is not None and spec is None:
        return None
    holder = site.node if spec is None else spec.node
    if spec is not None and spec.module is not module:
        return None
    display = grid_display(facts)
    axes = axes_of(facts, display)
    prefetch = prefetch_count(site)
    prefetch_arg = site.spec_arg("num_scalar_prefetch")
    operands, complete = operands_of(facts, len(axes))
    in_specs = site.spec_arg("in_specs")
    scratch = site.spec_arg("scratch_shapes")
    grid = site.spec_arg("grid")
    keys = alias_keys(site)
    return LaunchShape(
        path=module.path,
        line=site.node.lineno,
        call=Span(*module.span(site.node)),
        holder=Span(*module.span(holder)),
        spec_kind=None if spec is None else spec.kind,
        axes=axes,
        grid_code=_code(module, grid),
        grid_display=None if display is None else Span(*module.span(display)),
        grid_uses=_name_uses(module, grid, site.function_node),
        num_scalar_prefetch=prefetch,
        prefetch_code=_code(module, prefetch_arg),
        in_specs=_code(module, in_specs),
        in_specs_display=_display(module, in_specs),
        kernel=kernel,
        operands=operands,
        operands_complete=complete,
        outputs=outputs_of(facts, len(axes), operands, prefetch, keys),
        alias_keys=keys,
        alias_line=_line(site, "input_output_aliases"),
        calls=call_facts(site),
        has_scratch=scratch is not None and not _is_empty(scratch.value),
        differentiated=tuple(site.differentiated),
        hidden=_is_hidden(site),
        decorator=_is_decorator(site),
        shares_grid_spec=spec is not None and _spec_shared(facts, spec.node),
        counts=count_operands(facts, axes, operands),
        reaches=reaches_of(facts),
        evidence=_evidence(site),
        has_out_specs=site.spec_arg("out_specs") is not None,
        interpret=_text(module, site.args.get("interpret")),
    )


_BACKENDS = {"pltpu": "tpu", "plt": "triton", "plgpu": "mosaic_gpu"}


def _evidence(site: LaunchSite) -> Backend | None:
    """The backend whose own names appear in the launch and its grid spec."""
    nodes: list[ast.AST] = [site.node, *(spec.node for spec in site.grid_specs())]
    nodes += [arg.node for arg in site.args.values() if arg.node is not None]
    nodes += [spec.node for spec in specs_of(site)]
    if site.function_node is not None:
        nodes += _bound_to_names(site.function_node, nodes)
    found: set[str] = set()
    for inner in (inner for node in nodes for inner in ast.walk(node)):
        if isinstance(inner, ast.Name):
            value = look_up(site.scope, inner.id)
            name = value.name if isinstance(value, External) else ""
            found.add(_BACKENDS.get(name.partition(".")[0], ""))
    found.discard("")
    backends: tuple[Backend, ...] = ("tpu", "mosaic_gpu", "triton")
    for backend in backends:
        if found == {backend}:
            return backend
    return "tpu" if "tpu" in found else None


def _bound_to_names(function: ast.AST, nodes: list[ast.AST]) -> list[ast.AST]:
    """What the names that are given as arguments are bound to in the function."""
    names = {
        keyword.value.id
        for node in nodes
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if isinstance(keyword.value, ast.Name)
    }
    return [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id in names for t in node.targets)
    ]


_EDITED = ("grid", "in_specs", "out_specs", "input_output_aliases", "num_scalar_prefetch")


_EDITED = ("grid", "in_specs", "out_specs", "input_output_aliases", "num_scalar_prefetch")


def _is_hidden(site: LaunchSite) -> bool:
    """Whether arguments come by `**` from out of sight, or are made by a wrapper on the way."""
    if site.hidden or any(spec.hidden for spec in site.grid_specs()):
        return True
    given = [site.spec_arg(name) for name in _EDITED]
    return any(a is not None and a.node is None and not _is_empty(a.value) for a in given)


def _code(module: ModuleContext, arg: Arg | None) -> Code | None:
    if arg is None or arg.node is None:
        return None
    return Code(Span(*module.span(arg.node)), module.segment(arg.node))


def _line(site: LaunchSite, name: str) -> int:
    arg = site.args.get(name)
    return site.node.lineno if arg is None or arg.node is None else arg.node.lineno


def _text(module: ModuleContext, arg: Arg | None) -> str | None:
    code = _code(module, arg)
    return None if code is None else code.text


def _display(module: ModuleContext, arg: Arg | None) -> Span | None:
    if arg is None or not isinstance(arg.node, ast.List | ast.Tuple):
        return None
    return Span(*module.span(arg.node))


def _is_empty(value: Value) -> bool:
    if is_none(value):
        return True
    return isinstance(value, Tuple) and not value.items


def _name_uses(module: ModuleContext, arg: Arg | None, function: ast.AST | None) -> int:
    """How often the name given as an argument is read in the function around the launch."""
    if arg is None or not isinstance(arg.node, ast.Name):
        return 1
    wanted = arg.node.id
    return sum(
        isinstance(n, ast.Name) and n.id == wanted and isinstance(n.ctx, ast.Load)
        for n in ast.walk(function or module.tree)
    )


def _is_decorator(site: LaunchSite) -> bool:
    return any(
        site.node in ast.walk(decorator)
        for node in ast.walk(site.module.tree)
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
    )


def _spec_shared(facts: LaunchFacts, node: ast.Call) -> bool:
    return any(
        spec.node is node
        for other in facts.siblings
        if other is not facts.site
        for spec in other.grid_specs()
    )


def kernel_facts(facts: LaunchFacts, argument: Arg) -> KernelFacts | None:
    """The facts of a launch's kernel; None where the argument is not written in this file."""
    module = facts.module
    node = argument.node
    code = _argument_code(facts, argument)
    if code is None:
        return None
    values = list(options(argument.value))
    value: Value | None = values[0] if len(values) == 1 else None
    partial: Partial | None = None
    positionals = 0
    keywords: tuple[Code, ...] = ()
    if isinstance(value, Partial):
        partial = value
        positionals = len(value.args)
        keywords = _keywords(module, value)
        value = value.func
    if not isinstance(value, Function):
        line = facts.site.node.lineno if node is None else node.lineno
        return KernelFacts("unseen", "def", "", code, line=line)
    return _function_facts(facts, value, code, partial, positionals, keywords, node)


def _argument_code(facts: LaunchFacts, argument: Arg) -> Code | None:
    """The kernel argument, or the decorated function's name where the launch is a decorator."""
    if argument.node is not None:
        return _code(facts.module, argument)
    value = argument.value
    here = isinstance(value, Function) and value.module is facts.module
    if here and isinstance(value, Function) and not isinstance(value.node, ast.Lambda):
        return Code(Span(*facts.module.span(value.node)), value.node.name)
    return None


def _keywords(module: ModuleContext, partial: Partial) -> tuple[Code, ...]:
    node = partial.node
    if node is None:
        return ()
    return tuple(Code(Span(*module.span(k)), module.segment(k)) for k in node.keywords)


def _function_facts(
    facts: LaunchFacts,
    function: Function,
    code: Code,
    partial: Partial | None,
    positionals: int,
    keywords: tuple[Code, ...],
    argument: ast.expr | None,
) -> KernelFacts:
    module, node = function.module, function.node
    here = module is facts.module
    names = set(keywords_of(partial))
    first = positionals + int(function.self_value is not None)
    method = function.self_value is not None
    given = [] if function.self_value is None else [function.self_value]
    given += [] if partial is None else [*partial.args, *(value for _, value in partial.kwargs)]
    reads, unseen = helper_reads(module, node, function.scope, given)
    partial_node = None if partial is None else partial.node
    refs = _refs(node, first, names)
    form: Form = "lambda" if isinstance(node, ast.Lambda) else "method" if method else "def"
    return KernelFacts(
        place="here" if here else "elsewhere",
        form=form,
        name=function.name,
        argument=code,
        span=Span(*module.span(node)) if here else None,
        line=node.lineno,
        partial=_call_code(facts.module, partial_node),
        bound_positionals=positionals,
        bound_keywords=keywords,
        decorated=bool(getattr(node, "decorator_list", [])),
        nested=function.scope.parent is not None,
        first_ref=first,
        refs=refs,
        variadic=node.args.vararg.arg if node.args.vararg is not None else None,
        keyword_only=tuple(arg.arg for arg in node.args.kwonlyargs),
        catches_keywords=node.args.kwarg is not None,
        statements=statements_of(module, node, function.scope),
        reads=reads_in(module, node, function.scope),
        helper_reads=reads,
        unseen_calls=tuple(name for name in unseen if not _is_foreign(module, name)),
        foreign_calls=tuple(name for name in unseen if _is_foreign(module, name)),
        returned=returned_value(module, node),
        outside=reach_outside(module, node),
        uses=_uses(facts, function, argument) if here else 0,
        names=frozenset(_mentioned(node)),
        starts_dma=bool(_called(node) & _DMA),
        effects=bool(_called(node) & (_DMA | _EFFECTS)),
    )


def _called(node: FunctionNode) -> set[str]:
    """The last names of everything that a function mentions."""
    names = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    return names | {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _is_foreign(module: ModuleContext, name: str) -> bool:
    """Whether a name belongs to another package than the module, which has one."""
    package, inside, _ = module.name.partition(".")
    return bool(inside) and name.partition(".")[0] != package


def keywords_of(partial: Partial | None) -> tuple[str, ...]:
    """The names that a partial binds by keyword."""
    return () if partial is None else tuple(name for name, _ in partial.kwargs)


def _call_code(module: ModuleContext, node: ast.Call | None) -> Code | None:
    return None if node is None else Code(Span(*module.span(node)), module.segment(node))


def _refs(node: FunctionNode, first: int, bound: set[str]) -> tuple[ParameterFacts, ...]:
    positional = [*node.args.posonlyargs, *node.args.args]
    required = len(positional) - len(node.args.defaults)
    return tuple(
        ParameterFacts(arg.arg, index, index >= required)
        for index, arg in enumerate(positional)
        if index >= first and arg.arg not in bound
    )


def _mentioned(node: FunctionNode) -> set[str]:
    names = {arg.arg for arg in all_parameters(node)}
    names.update(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
    names.update(
        n.name for n in ast.walk(node) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return names


def _uses(facts: LaunchFacts, function: Function, argument: ast.expr | None) -> int:
    """How often the kernel is named apart from this launch's argument, here or elsewhere."""
    if isinstance(function.node, ast.Lambda):
        return _lambda_uses(facts, argument)
    name = function.node.name
    within = function.scope.node if isinstance(function.scope.node, FunctionNode) else None
    own = set(ast.walk(argument)) if argument is not None else set()
    count = 0
    for node in ast.walk(facts.module.tree if within is None else within):
        if node in own:
            continue
        named = isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        dotted = function.self_value is not None or within is None
        attribute = isinstance(node, ast.Attribute) and node.attr == name and dotted
        by_string = isinstance(node, ast.Constant) and node.value == name
        count += named or attribute or by_string
    if argument is None:
        # The launch is a decorator: the name stands for the launch, not for the kernel.
        return 0
    file, project = facts.module.file, facts.project
    if within is None and file is not None and project is not None:
        count += project.used_elsewhere(file, name)
    return count + _bound_name_uses(facts, argument, name)


def _bound_name_uses(facts: LaunchFacts, argument: ast.expr, kernel: str) -> int:
    """Uses besides this one of a name that the kernel (or a partial of it) is bound to."""
    if not isinstance(argument, ast.Name) or argument.id == kernel:
        return 0
    where = facts.site.function_node or facts.module.tree
    loads = [
        n
        for n in ast.walk(where)
        if isinstance(n, ast.Name) and n.id == argument.id and isinstance(n.ctx, ast.Load)
    ]
    # The assignment that binds the name mentions the kernel once.
    return len(loads) - 2


def _lambda_uses(facts: LaunchFacts, argument: ast.expr | None) -> int:
    if not isinstance(argument, ast.Name):
        return 0
    where = facts.site.function_node or facts.module.tree
    loads = [
        n
        for n in ast.walk(where)
        if isinstance(n, ast.Name) and n.id == argument.id and isinstance(n.ctx, ast.Load)
    ]
    return len(loads) - 1
