"""What stands for the parameters of a grid function where the launch is made."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from pallas_static_grid.analysis.algebra import equal
from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.values import (
    Arg,
    Array,
    BlockSpec,
    Dict,
    Function,
    Int,
    OperandCall,
    Partial,
    Tuple,
    Unknown,
    Value,
    options,
)
from pallas_static_grid.rewrite.names import FunctionNode, enclosing, path_to
from pallas_static_grid.transforms.inlining.returned import NotInlinable, uses
from pallas_static_grid.transforms.shapes.bindings import Bindings
from pallas_static_grid.transforms.shapes.canonical import lookup

_LENGTHS = frozenset({"shape", "size", "ndim", "dtype"})


@dataclass(frozen=True, slots=True)
class Standing:
    """The text for each node that reads a parameter, and whether that is certain."""

    parts: dict[ast.expr, str]
    names: frozenset[str]
    """Names that the new text reads."""
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Place:
    """Where the tuple is to be written, and what may be read there."""

    facts: LaunchFacts
    bindings: Bindings
    function: FunctionNode
    grid: ast.expr
    """The launch's grid argument."""

    def parent(self, node: ast.AST) -> ast.AST:
        """The node directly above."""
        return path_to(self.facts.module.tree, node)[-1]


def standing(place: Place, expressions: tuple[ast.expr, ...]) -> Standing:
    """What replaces the parameters in the expressions that the function returns."""
    arguments = place.function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    used = {
        argument.arg: uses(expressions, argument.arg)
        for argument in (*plain, *arguments.kwonlyargs)
    }
    if arguments.vararg is not None and uses(expressions, arguments.vararg.arg):
        raise NotInlinable(place.function, f"it reads `*{arguments.vararg.arg}`")
    if arguments.kwarg is not None:
        used[arguments.kwarg.arg] = uses(expressions, arguments.kwarg.arg)
    defaults = _defaults(place.function)
    required = [argument.arg for argument in plain if argument.arg not in defaults]
    found = Standing({}, frozenset())
    if _is_meta(place, used, required, arguments.kwarg):
        name = next((n for n in used if used[n] and n not in defaults), None)
        if name is not None:
            found = _from_constants(place, name, used[name])
    else:
        found = _from_operands(place, [a.arg for a in plain], required, used)
    return _with_defaults(place, found, defaults, used, required)


def _defaults(function: FunctionNode) -> dict[str, ast.expr]:
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    count = len(arguments.defaults)
    given = dict(zip((a.arg for a in plain[len(plain) - count :]), arguments.defaults, strict=True))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            given[argument.arg] = default
    return given


def _with_defaults(
    place: Place,
    found: Standing,
    defaults: dict[str, ast.expr],
    used: dict[str, list[ast.Name]],
    required: list[str],
) -> Standing:
    """Parameters with a default that no operand takes stand for their default."""
    parts, names = dict(found.parts), set(found.names)
    for name, default in defaults.items():
        nodes = [node for node in used.get(name, []) if node not in parts]
        text = place.facts.module.segment(default)
        for node in nodes:
            if not isinstance(default, ast.Name | ast.Constant):
                raise NotInlinable(default, f"the default of `{name}` is computed")
            parts[node] = text
        if nodes and isinstance(default, ast.Name):
            _insist_on_visible(place, default, default.id)
            names.add(default.id)
    open_ = [n for n in required if any(node not in parts for node in used[n])]
    if any(node not in parts for n in open_ for node in used[n] if not _inside(node, parts)):
        raise NotInlinable(place.function, f"nothing stands for its parameter `{open_[0]}`")
    return Standing(parts, frozenset(names), found.certain)


def _inside(node: ast.Name, parts: dict[ast.expr, str]) -> bool:
    """Whether the node lies inside of one that is replaced."""
    return any(node in list(ast.walk(part)) for part in parts)


# --- operands


def _from_operands(
    place: Place, plain: list[str], required: list[str], used: dict[str, list[ast.Name]]
) -> Standing:
    calls = place.facts.site.calls
    wanted = [name for name in plain if used[name]]
    if not wanted:
        return Standing({}, frozenset())
    if not calls:
        return _by_name(place, [n for n in required if used[n]], used)
    parts: dict[ast.expr, str] = {}
    names: set[str] = set()
    for call in calls:
        if not call.complete or len(call.args) < len(required):
            raise NotInlinable(call.node, "its operands are not all in sight")
    for index, name in enumerate(plain):
        if not used[name] or index >= len(calls[0].args):
            continue
        for node in used[name]:
            _insist_on_operand(place, name, node)
        operand = _operand(place, calls, index, used[name])
        parts |= {node: place.facts.module.segment(operand) for node in used[name]}
        names |= {n.id for n in ast.walk(operand) if isinstance(n, ast.Name)}
    return Standing(parts, frozenset(names))


def _insist_on_operand(place: Place, name: str, node: ast.Name) -> None:
    """Insist that a parameter is no dict of constants which is handed on as a whole."""
    above = place.parent(node)
    if isinstance(above, ast.Call) and node in above.args and isinstance(above.func, ast.Name):
        value = lookup(place.facts.site.scope, above.func.id)
        for callee in options(value) if value is not None else ():
            if isinstance(callee, Function) and _takes_keys(callee.node, above.args.index(node)):
                raise NotInlinable(node, f"`{name}` is handed to a function that reads its keys")
    elif _key(place, node) is not None or name.startswith("meta"):
        raise NotInlinable(node, f"`{name}` is used otherwise than by constant keys")


def _takes_keys(function: FunctionNode, index: int) -> bool:
    """Whether a function subscripts its parameter `index` by strings."""
    arguments = [*function.args.posonlyargs, *function.args.args]
    if index >= len(arguments):
        return True
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == arguments[index].arg
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
        for node in ast.walk(function)
    )


def _operand(place: Place, calls: list[OperandCall], index: int, nodes: list[ast.Name]) -> ast.expr:
    """The expression of one operand, the same for all calls and readable at the launch."""
    arguments = [call.args[index] for call in calls]
    first = arguments[0].node
    if first is None or any(argument.node is None for argument in arguments):
        raise NotInlinable(calls[0].node, "its operands are not all in sight")
    if not _is_path(first):
        raise NotInlinable(first, "an operand is computed in the call itself")
    texts = {ast.dump(argument.node) for argument in arguments if argument.node is not None}
    if len(texts) > 1:
        lengths_only = all(
            isinstance(above := place.parent(node), ast.Attribute) and above.attr in _LENGTHS
            for node in nodes
        )
        if not (lengths_only and _same_shape([a.value for a in arguments])):
            raise NotInlinable(calls[1].node, "it is called with different operands")
    for name in (n for n in ast.walk(first) if isinstance(n, ast.Name)):
        _insist_on_visible(place, name, name.id, calls)
    return first


def _is_path(node: ast.expr) -> bool:
    """A name, an attribute, or an element by a constant: reading it again changes nothing."""
    match node:
        case ast.Name():
            return True
        case ast.Attribute(value=inner) | ast.Subscript(value=inner, slice=ast.Constant()):
            return _is_path(inner)
        case _:
            return False


def _is_sum_of_paths(node: ast.expr) -> bool:
    """Arithmetic on paths and numbers."""
    match node:
        case ast.Constant():
            return True
        case ast.BinOp(left=left, right=right):
            return _is_sum_of_paths(left) and _is_sum_of_paths(right)
        case ast.UnaryOp(operand=operand):
            return _is_sum_of_paths(operand)
        case _:
            return _is_path(node)


def _same_shape(values: list[Value]) -> bool:
    arrays = [value for value in values if isinstance(value, Array)]
    if len(arrays) == len(values) and len({array.dims_ident for array in arrays}) == 1:
        return True
    if len(arrays) != len(values) or any(array.shape is None for array in arrays):
        return False
    shapes = [array.shape or () for array in arrays]
    if len({len(shape) for shape in shapes}) != 1 or len({a.dtype for a in arrays}) != 1:
        return False
    return all(
        isinstance(extent, Int) and isinstance(first, Int) and equal(extent.expr, first.expr)
        for shape in shapes[1:]
        for extent, first in zip(shape, shapes[0], strict=True)
    )


def _insist_on_visible(
    place: Place, node: ast.AST, name: str, calls: list[OperandCall] | None = None
) -> None:
    """Insist that a name means at the launch what it means at `node`."""
    there = place.bindings.binder(node, name)
    if there is not place.bindings.binder(place.grid, name):
        raise NotInlinable(node, f"`{name}` is not visible where the launch is made")
    at_once = calls is not None and all(call.node.func is place.facts.site.node for call in calls)
    if at_once or place.bindings.stays(node, name):
        if not at_once and not _bound_before(place, there, name):
            raise NotInlinable(node, f"`{name}` gets its value only after the launch is made")
        return
    raise NotInlinable(node, f"`{name}` is bound more than once")


def _bound_before(place: Place, scope: ast.AST | None, name: str) -> bool:
    """Whether the binding of a name stands above the launch, if both are in one function."""
    if scope is None or scope is not enclosing(place.facts.module.tree, place.grid)[-1]:
        return True
    definitions = place.bindings.definitions(scope, name)
    if definitions is None:
        return True
    return all(d.statement.lineno < place.grid.lineno for d in definitions)


def _by_name(place: Place, required: list[str], used: dict[str, list[ast.Name]]) -> Standing:
    """A launch that is never called in sight: variables of the same name, if there are any."""
    parts: dict[ast.expr, str] = {}
    for name in required:
        value = lookup(place.facts.site.scope, name)
        if value is None or place.bindings.binder(place.grid, name) is None:
            raise NotInlinable(
                place.function,
                f"the launch is never called in sight, and no variable in scope is named `{name}`",
            )
        parts |= dict.fromkeys(used[name], name)
    return Standing(parts, frozenset(required), certain=False)


# --- a dict of constants


def _is_meta(
    place: Place,
    used: dict[str, list[ast.Name]],
    required: list[str],
    kwarg: ast.arg | None,
) -> bool:
    """Whether the function's one parameter is a dict of constants (`meta["BLOCK"]`)."""
    if kwarg is not None and used[kwarg.arg]:
        return not any(used[name] for name in required)
    if len(required) != 1:
        return False
    nodes = used[required[0]]
    return all(_key(place, node) is not None for node in nodes)


def _key(place: Place, node: ast.Name) -> str | None:
    above = place.parent(node)
    if isinstance(above, ast.Subscript) and above.value is node:
        inner = above.slice
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            return inner.value
    return None


def _from_constants(place: Place, name: str, nodes: list[ast.Name]) -> Standing:
    parts: dict[ast.expr, str] = {}
    names: set[str] = set()
    certain = True
    for node in nodes:
        key = _key(place, node)
        if key is None:
            raise NotInlinable(node, f"`{name}` is used otherwise than by constant keys")
        text, sure = _constant(place, name, key, node)
        above = place.parent(node)
        assert isinstance(above, ast.Subscript)
        parts[above] = text
        names |= {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
        certain = certain and sure
    return Standing(parts, frozenset(names), certain)


def _constant(place: Place, name: str, key: str, node: ast.Name) -> tuple[str, bool]:
    """The constant for a key: a dict of that name, the kernel's keyword, a name in scope."""
    scope = place.facts.site.scope
    known = lookup(scope, name)
    if isinstance(known, Dict) and key in dict(known.items):
        return place.facts.module.segment(place.parent(node)), True  # type: ignore[arg-type]  # a Subscript
    keyword = _kernel_keyword(place, key)
    if keyword is not None:
        return keyword, True
    blocks = frozenset(_block_sizes(place))
    candidates = [n for n in _integers(scope) if _folded(n) == _folded(key)]
    if key in candidates:
        candidates = [key]
    in_blocks = [n for n in candidates if n in blocks]
    chosen = in_blocks if len(in_blocks) == 1 else candidates
    if len(chosen) != 1:
        which = "several names" if chosen else "no name"
        raise NotInlinable(node, f"{which} in scope could stand for `{key}`")
    for binder in (place.bindings.binder(place.grid, chosen[0]),):
        if binder is None or not place.bindings.stays(place.grid, chosen[0]):
            raise NotInlinable(node, f"`{chosen[0]}` is bound more than once")
    return chosen[0], chosen[0] in blocks or chosen[0] == key


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def _integers(scope: Scope | None) -> Iterator[str]:
    """Names in scope that hold an integer, as far as is known; inner ones hide outer ones."""
    seen: set[str] = set()
    while scope is not None:
        for name, value in scope.names.items():
            if name not in seen and all(isinstance(o, Int | Unknown) for o in options(value)):
                yield name
            seen.add(name)
        scope = scope.parent


def _kernel_keyword(place: Place, key: str) -> str | None:
    """The keyword `key` of a kernel that is given as `functools.partial(kernel, key=...)`."""
    arg = place.facts.site.args.get("kernel")
    for option in options(arg.value) if arg is not None else ():
        if not isinstance(option, Partial) or option.node is None:
            continue
        for keyword in option.node.keywords:
            if keyword.arg == key:
                if not isinstance(keyword.value, ast.Constant):
                    if not _is_sum_of_paths(keyword.value):
                        return None
                    for inner in ast.walk(keyword.value):
                        if isinstance(inner, ast.Name):
                            _insist_on_visible(place, inner, inner.id)
                return place.facts.module.segment(keyword.value)
    return None


def _block_sizes(place: Place) -> Iterator[str]:
    """The words that the launch's block shapes are made of."""
    for argument in ("in_specs", "out_specs"):
        for spec in _specs(place.facts.site.spec_arg(argument)):
            shape = spec.block_shape
            if shape is None or shape.node is None or spec.module is not place.facts.module:
                continue
            yield from (n.id for n in ast.walk(shape.node) if isinstance(n, ast.Name))


def _specs(arg: Arg | None) -> Iterator[BlockSpec]:
    values = list(options(arg.value)) if arg is not None else []
    while values:
        value = values.pop()
        if isinstance(value, BlockSpec):
            yield value
        elif isinstance(value, Tuple):
            values.extend(option for item in value.items for option in options(item))
