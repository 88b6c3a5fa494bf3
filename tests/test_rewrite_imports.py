"""Imports that are reused or added, and names that collide with nothing."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest
from pallas_static_grid.analysis.modules import ModuleContext, parse_module
from pallas_static_grid.rewrite.edits import apply, replacement
from pallas_static_grid.rewrite.imports import member, needed
from pallas_static_grid.rewrite.names import bound_in, enclosing, fresh, taken_at
from pallas_static_grid.rewrite.unused import drop_unused


def place(module: ModuleContext) -> ast.AST:
    """The call of `here` in the text."""
    return next(
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "here"
    )


@pytest.mark.parametrize(
    ("source", "wanted", "text"),
    [
        ("import math\nhere()\n", "math", "math"),
        ("import math as m\nhere()\n", "math", "m"),
        ("import jax.numpy as np\nhere()\n", "jax.numpy", "np"),
        ("from jax import numpy as jnp\nhere()\n", "jax.numpy", "jnp"),
        ("import jax\nhere()\n", "jax.numpy", "jax.numpy"),
        ("import jax as j\nhere()\n", "jax.numpy", "j.numpy"),
        ("import jax.numpy\nhere()\n", "jax.numpy", "jax.numpy"),
        ("from jax.experimental import pallas as pl\nhere()\n", "jax.experimental.pallas", "pl"),
        (
            "def f():\n    from jax.experimental import pallas\n    here()\n",
            "jax.experimental.pallas",
            "pallas",
        ),
        ("try:\n    import math\nexcept ImportError:\n    raise\nhere()\n", "math", "math"),
        ("import math\nimport math\nhere()\n", "math", "math"),
        ("import math\nclass A:\n    math = 1\n    def f(self):\n        here()\n", "math", "math"),
    ],
)
def test_an_import_in_force_is_reused(source: str, wanted: str, text: str) -> None:
    module = parse_module("m.py", source)
    found = needed(module, wanted, place(module))
    assert (found.text, found.edits) == (text, ())


@pytest.mark.parametrize(
    ("source", "wanted", "text"),
    [
        # shadowed by a parameter, a local, or a second binding of the module
        ("import math\ndef f(math):\n    here()\n", "math", "math_"),
        ("import math\ndef f():\n    here()\n    math = 1\n", "math", "math_"),
        ("import math\nmath = None\nhere()\n", "math", "math_"),
        ("import math\ndef math(): pass\nhere()\n", "math", "math_"),
        # something else by the usual name
        ("import jnp\nhere()\n", "jax.numpy", "jnp_"),
        # a package does not load this submodule
        ("import jax\nhere()\n", "jax.experimental.pallas", "pl"),
        # a local import that comes later, or belongs to another function
        ("def f():\n    here()\n    import math\n", "math", "math_"),
        ("def g():\n    import math\ndef f():\n    here()\n", "math", "math"),
        ("if TYPE_CHECKING:\n    import math as m\nhere()\n", "math", "math"),
    ],
)
def test_what_is_not_in_force_is_imported(source: str, wanted: str, text: str) -> None:
    module = parse_module("m.py", source)
    found = needed(module, wanted, place(module))
    assert found.text == text
    after = apply(source, found.edits)
    ast.parse(after)
    again = parse_module("m.py", after)
    assert needed(again, wanted, place(again)).edits == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '"""Doc."""\n\nimport jax\nimport numpy as np\nhere()\n',
            '"""Doc."""\n\nimport math\n\nimport jax\nimport numpy as np\nhere()\n',
        ),
        (
            "import functools\nimport os\nfrom typing import Any\n\nimport jax\nhere()\n",
            "import functools\nimport math\nimport os\nfrom typing import Any\n\n"
            "import jax\nhere()\n",
        ),
        (
            "from __future__ import annotations\n\nimport jax\nhere()\n",
            "from __future__ import annotations\n\nimport math\n\nimport jax\nhere()\n",
        ),
        (
            "from __future__ import annotations\n\nfrom typing import Any\n\nimport jax\nhere()\n",
            "from __future__ import annotations\n\nimport math\nfrom typing import Any\n\n"
            "import jax\nhere()\n",
        ),
        (
            "# licence\n\nimport functools  # why\n# about jax\nimport jax\nhere()\n",
            "# licence\n\nimport functools  # why\nimport math\n# about jax\nimport jax\nhere()\n",
        ),
        ("# licence\nimport jax\nhere()\n", "# licence\nimport math\n\nimport jax\nhere()\n"),
        (
            "from .a import b\nhere()\n",
            "import math\n\nfrom .a import b\nhere()\n",
        ),
        (
            "import functools\r\n\r\nimport jax\r\nhere()\r\n",
            "import functools\r\nimport math\r\n\r\nimport jax\r\nhere()\r\n",
        ),
        (
            "try:\n    import x\nexcept ImportError:\n    x = None\nhere()\n",
            "import math\n\ntry:\n    import x\nexcept ImportError:\n    x = None\nhere()\n",
        ),
        # sorted by module name whatever the kind
        (
            "import collections\nfrom functools import partial\nimport os\n\nimport jax\nhere()\n",
            "import collections\nfrom functools import partial\nimport math\nimport os\n\n"
            "import jax\nhere()\n",
        ),
    ],
)
def test_a_new_import_goes_where_a_sorter_puts_it(before: str, after: str) -> None:
    module = parse_module("m.py", before)
    assert apply(before, needed(module, "math", place(module)).edits) == after


def test_third_party_froms_come_after_plain_imports() -> None:
    source = "import math\n\nimport jax\nfrom jax import lax\nimport numpy\nhere()\n"
    module = parse_module("m.py", source.replace("from jax import lax\nimport numpy\n", ""))
    found = needed(module, "jax.experimental.pallas", place(module))
    assert apply(module.text, found.edits) == (
        "import math\n\nimport jax\nfrom jax.experimental import pallas as pl\nhere()\n"
    )


def test_a_member_imported_directly_is_used() -> None:
    module = parse_module("m.py", "from math import prod\nhere()\n")
    assert member(module, "math.prod", place(module)).text == "prod"


def test_a_shadowed_direct_import_is_not_used() -> None:
    module = parse_module("m.py", "from math import prod\ndef f(prod):\n    here()\n")
    found = member(module, "math.prod", place(module))
    assert found.text == "math.prod" and found.edits


SCOPES = dedent("""\
    import jax.numpy as jnp
    LIMIT = 3
    def outer(a, *rest, key=None):
        import os as system
        total = 0
        class Inner:
            field = 1
        def inner(b):
            nonlocal total
            total = [c := d for d in rest]
            return here(e, lambda f: g)
        return inner
    """)


def test_names_in_sight() -> None:
    module = parse_module("m.py", SCOPES)
    at = place(module)
    names = [getattr(s, "name", "module") for s in enclosing(module.tree, at)]
    assert names == ["module", "outer", "inner"]
    taken = taken_at(module.tree, at)
    assert {"jnp", "LIMIT", "a", "rest", "key", "system", "total", "Inner", "inner"} <= taken
    assert {"b", "c", "d", "e", "f", "g", "here", "outer"} <= taken
    assert "field" not in taken and "os" not in taken


def test_bound_names_of_one_scope() -> None:
    module = parse_module("m.py", SCOPES)
    outer = module.tree.body[2]
    assert bound_in(outer) == {"a", "rest", "key", "system", "total", "Inner", "inner"}
    assert bound_in(module.tree) == {"jnp", "LIMIT", "outer"}


def test_fresh_names() -> None:
    assert fresh(frozenset(), "n_live") == "n_live"
    assert fresh(frozenset({"n_live"}), "n_live", "num_live") == "num_live"
    assert fresh(frozenset({"n_live", "num_live", "n_live_2"}), "n_live", "num_live") == "n_live_3"
    assert fresh(frozenset(), "max", "max_steps") == "max_steps"
    assert fresh(frozenset(), "lambda") == "lambda_2"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import jax\nimport numpy as np\ng = np.f()\n", "import jax\ng = 1\n"),
        ("import numpy as np\n\nimport own\ng = np.f()\n", "import own\ng = 1\n"),
        ("from jax import lax\ng = lax.f()\n", "g = 1\n"),
        # used elsewhere, also in a comment or a string
        ("import numpy as np\ng = np.f()\nh = np\n", None),
        ("import numpy as np\ng = np.f()  # not np\n", None),
        ('import numpy as np\ng = np.f()\nh = "np"\n', None),
        # never used, with a comment, not alone, or with effects of its own
        ("import numpy as np\nimport jax.numpy as jnp\ng = jnp.f()\nnp\n", None),
        ("import math\ng = 2\n", None),
        ("import numpy as np  # keep\ng = np.f()\n", None),
        ("import jax, numpy as np\ng = np.f()\n", None),
        ("import own as np\ng = np.f()\n", None),
        ("if 1:\n    import numpy as np\ng = np.f()\n", None),
    ],
)
def test_imports_that_only_the_edited_code_used_go(before: str, after: str | None) -> None:
    module = parse_module("m.py", before)
    value = next(n for n in module.tree.body if isinstance(n, ast.Assign)).value
    edit = replacement(module.span(value), "1")
    dropped = drop_unused(module, [edit])
    if "jnp" in before:
        assert apply(before, [edit, *dropped]) == "import numpy as np\ng = 1\nnp\n"
    elif after is None:
        assert dropped == ()
    else:
        assert apply(before, [edit, *dropped]) == after


def test_a_package_may_hand_its_imports_on() -> None:
    source = "import numpy as np\ng = np.f()\n"
    module = parse_module("p/__init__.py", source, is_package=True)
    value = next(n for n in module.tree.body if isinstance(n, ast.Assign)).value
    assert drop_unused(module, [replacement(module.span(value), "1")]) == ()
