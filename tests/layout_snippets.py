"""Statements to lay out, drawn at random: calls, displays, operators, lambdas, signatures."""

from __future__ import annotations

import ast
import random

_NAMES = ["x", "n", "gate", "up_ref", "num_live_blocks", "metadata", "group_offset", "BLOCK_ROWS"]
_CALLEES = [
    "f",
    "pl.cdiv",
    "jnp.full",
    "pl.pallas_call",
    "pltpu.PrefetchScalarGridSpec",
    "jax.ShapeDtypeStruct",
]
_KINDS = [
    *("call", "call", "call", "keywords", "twice", "tuple", "list", "dict", "sum", "subscript"),
    *("pair", "attribute", "lambda", "index_map", "choice", "negative", "loop", "compare"),
    *("either", "spec"),
]
_NEEDS_PARENTHESES = ast.BinOp | ast.BoolOp | ast.Compare | ast.IfExp | ast.Lambda | ast.UnaryOp


class Snippets:
    """Draws statements; the same seed draws the same ones."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def name(self) -> str:
        return self.random.choice(_NAMES)

    def callee(self) -> str:
        return self.random.choice(_CALLEES)

    def comma(self) -> str:
        return "," if self.random.random() < 0.06 else ""

    def items(self, depth: int, least: int) -> str:
        number = self.random.randrange(least, 5)
        inside = ", ".join(self.expression(depth - 1) for _ in range(number))
        return inside + (self.comma() if number else "")

    def operand(self, depth: int) -> str:
        text = self.expression(depth - 1)
        node = ast.parse(text, mode="eval").body
        bare = isinstance(node, _NEEDS_PARENTHESES) and not text.startswith("(")
        return f"({text})" if bare else text

    def leaf(self) -> str:
        attribute = self.random.choice(["shape", "dtype", "block_size"])
        number = str(self.random.randrange(2000))
        return self.random.choice([self.name(), number, f"{self.name()}.{attribute}", '"text"'])

    def expression(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.22:
            return self.leaf()

        def inner() -> str:
            return self.expression(depth - 1)

        match self.random.choice(_KINDS):
            case "call":
                return f"{self.callee()}({self.items(depth, 0)})"
            case "keywords":
                number = self.random.randrange(1, 5)
                inside = ", ".join(f"{self.name()}{i}={inner()}" for i in range(number))
                return f"{self.callee()}({inside}{self.comma()})"
            case "twice":
                return f"{self.callee()}({self.items(depth, 1)})({self.items(depth, 1)})"
            case "tuple":
                return f"({inner()},)" if depth % 2 else f"({inner()}, {self.items(depth, 1)})"
            case "list":
                return f"[{self.items(depth, 0)}]"
            case "dict":
                number = self.random.randrange(0, 4)
                return "{" + ", ".join(f"{inner()}: {inner()}" for _ in range(number)) + "}"
            case "sum":
                number = self.random.randrange(1, 4)
                operators = self.random.choices(["+", "-", "*", "//", "%"], k=number)
                terms = [f"{self.operand(depth)} {operator}" for operator in operators]
                return " ".join([*terms, self.operand(depth)])
            case "subscript":
                return f"{self.name()}[{inner()}]"
            case "pair":
                return f"{self.name()}[{inner()}, {inner()}]"
            case "attribute":
                return f"{self.callee()}({inner()}).shape"
            case "lambda":
                return f"(lambda i, j: {inner()})"
            case "index_map":
                return f"pl.BlockSpec(({self.name()}, {self.name()}), lambda i, j: (i, 0))"
            case "choice":
                return f"({inner()} if {inner()} else {inner()})"
            case "negative":
                return f"-{self.name()}"
            case "loop":
                return f"[{inner()} for {self.name()} in {inner()}]"
            case "compare":
                return f"({self.operand(depth)} < {self.operand(depth)})"
            case "either":
                return f"({self.operand(depth)} or {self.operand(depth)})"
            case _:
                return f"({self.operand(depth)} + {self.operand(depth)})"

    def signature(self) -> str:
        parameters = [f"{self.name()}{i}" for i in range(self.random.randrange(0, 9))]
        for kind in (": int", "=1", ": dict[str, int] = {}", "=None"):
            if self.random.random() < 0.3:
                parameters.append(f"named{len(parameters)}{kind}")
                if kind == ": int":
                    parameters.sort(key=lambda text: "=" in text)
        parameters += ["*rest"] if self.random.random() < 0.3 else []
        comma = self.comma() if parameters else ""
        returns = self.random.choice(["", " -> int"])
        return f"def {self.name()}({', '.join(parameters)}{comma}){returns}:"

    def statement(self) -> str:
        while True:
            text = self._statement() + self.random.choice([""] * 6 + ["  # why this is so"])
            try:
                ast.parse(framed(text))
            except SyntaxError:
                continue
            return text

    def _statement(self) -> str:
        value = self.expression(self.random.randrange(1, 5))
        forms = [
            f"{self.name()} = {value}",
            f"{self.name()}, {self.name()} = {value}",
            f"{self.name()}[...] = {value}",
            f"{self.name()}: int = {value}",
            f"{self.name()} += {value}",
            f"return {value}",
            f"return {value}, {self.expression(2)}",
            f"assert {value}",
            f"if {value}:",
            f"@pl.when({value})",
            f"f({value})",
            self.signature(),
        ]
        return self.random.choice(forms)


def framed(statement: str) -> str:
    """The statement in a function of its own, with a block below if it needs one."""
    lines = ["def frame():", f"    {statement}"]
    if statement.startswith(("if ", "def ")):
        lines.append("        pass")
    elif statement.startswith("@"):
        lines += ["    def inner():", "        pass"]
    return "\n".join([*lines, "    END", "", "", ""])
