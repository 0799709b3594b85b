"""What means something else in Spark's SQL, or is missing there, and sqlglot leaves as it is: one function each.

A rewrite takes a node of the query as sqlglot has parsed it and returns it, or what stands for it in Spark.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from iolens.metrics.views import LIBRARY_OF, LISTS, OVER

__all__ = ["REWRITES", "qualified"]

Node = exp.Expr


def _call(name: str, *arguments: Node) -> Node:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _number(value: int) -> Node:
    return exp.Literal.number(value)


def _words(values: list[str]) -> list[Node]:
    return [exp.Literal.string(value) for value in values]


def _cases(value: Node, of: dict[str, str]) -> Node:
    made = exp.Case(this=value.copy())
    for when, then in of.items():
        made = made.when(exp.Literal.string(when), exp.Literal.string(then))
    return made.else_(value.copy())


# ---- iolens's own functions ----


def _library_of(of: Node) -> Node:
    return _cases(of, LIBRARY_OF)


def _lowest_of(of: Node) -> Node:
    return _cases(of, OVER)


def _counted(n: Node) -> Node:
    there = exp.GTE(this=n.copy(), expression=_number(0))
    return exp.Filter(this=exp.Sum(this=n), expression=exp.Where(this=there))


_MACROS = {"library_of": _library_of, "lowest_of": _lowest_of, "counted": _counted}


def macros(node: Node) -> Node:
    """The functions that a data set defines (``iolens.metrics.views.macros``), written out."""
    if isinstance(node, exp.In) and isinstance(node.args.get("field"), exp.Anonymous):
        listed = LISTS.get(node.args["field"].name.lower())
        return node if listed is None else exp.In(this=node.this, expressions=_words(listed))
    if not isinstance(node, exp.Anonymous):
        return node
    name = node.name.lower()
    if name in LISTS:
        return exp.Array(expressions=_words(LISTS[name]))
    return _MACROS[name](*node.expressions) if name in _MACROS else node


# ---- numbers ----

# What cannot be a number with a fraction: nothing to round.
_WHOLE = (
    exp.Null,
    exp.Count,
    exp.Predicate,
    exp.Array,
    exp.Literal,
    exp.Boolean,
    exp.And,
    exp.Or,
    exp.Not,
    exp.Paren,
)


def rounded(node: Node) -> Node:
    """``x::BIGINT`` rounds to the nearest (even) number; Spark cuts off. bround leaves whole numbers as they are."""
    if not isinstance(node, exp.Cast) or not node.to.is_type("bigint", "int"):
        return node
    value = node.this
    if isinstance(value.unnest(), _WHOLE) or (isinstance(value, exp.Anonymous) and value.name == "bround"):
        return node
    return exp.Cast(this=_call("bround", value), to=node.to)


def divided(node: Node) -> Node:
    """A division by zero is no error but null; DuckDB's ``/`` is infinite then, which no query of ours comes to."""
    if isinstance(node, exp.Div):
        return _call("try_divide", node.this, node.expression)
    if isinstance(node, exp.Mod):
        return _call("try_mod", node.this, node.expression)
    if isinstance(node, exp.IntDiv):
        if isinstance(node.expression, exp.Nullif):
            return node
        divisor = exp.Nullif(this=node.expression, expression=_number(0))
        return exp.IntDiv(this=node.this, expression=divisor)
    return node


# ---- lists ----


def elements(node: Node) -> Node:
    """Elements count from 1 and are null outside of the list; ``list[2:]`` is the list without its first."""
    if not isinstance(node, exp.Bracket):
        return node
    (index,) = node.expressions
    if isinstance(index, exp.Slice):
        first = index.this or _number(1)
        size = index.expression or _call("size", node.this.copy())
        length = exp.Add(
            this=exp.Sub(this=size, expression=exp.Paren(this=first.copy())), expression=_number(1)
        )
        return _call("slice", node.this, first, length)
    if isinstance(index, exp.Literal):  # sqlglot counts these from 0
        return _call("get", node.this, index)
    return _call("try_element_at", node.this, exp.cast(index, "int"))


def lists(node: Node) -> Node:
    """Functions of lists that have another name in Spark, or another result for what is not there."""
    if isinstance(node, exp.ArrayContains):
        return exp.Coalesce(
            this=_call("array_contains", node.this, node.expression), expressions=[exp.false()]
        )
    if isinstance(node, exp.ArrayPrepend):
        return _call("array_prepend", node.this, node.expression)
    name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    if name == "list_position":
        return exp.Nullif(this=_call("array_position", *node.expressions), expression=_number(0))
    return _LISTS[name](*node.expressions) if name in _LISTS else node


def _extract(of: Node, index: Node) -> Node:
    return _call("try_element_at", of, exp.cast(index, "int"))


def _slice(of: Node, first: Node, last: Node) -> Node:
    length = exp.Add(this=exp.Sub(this=last, expression=exp.Paren(this=first.copy())), expression=_number(1))
    return _call("slice", of, exp.cast(first, "int"), exp.cast(exp.Paren(this=length), "int"))


def ranges(node: Node) -> Node:
    """range(a, b) ends before b, and is empty where b is not above a: a sequence of Spark would go down."""
    if not isinstance(node, exp.GenerateSeries) or not node.args.get("is_end_exclusive"):
        return node
    start, end = node.args["start"], node.args.get("end")
    if end is None:
        start, end = _number(0), start
    last = exp.Sub(this=exp.Paren(this=end.copy()), expression=_number(1))
    some = exp.LT(this=exp.Paren(this=start.copy()), expression=exp.Paren(this=end.copy()))
    return exp.If(this=some, true=_call("sequence", start, last), false=_call("array"))


def _list_sum(of: Node) -> Node:
    """The sum of what is not null; null if nothing is."""
    x, total = exp.to_identifier("x"), exp.to_identifier("total")
    there = _call(
        "filter", of, exp.Lambda(this=exp.Not(this=exp.Is(this=x, expression=exp.null())), expressions=[x])
    )
    added = exp.Lambda(
        this=exp.Add(this=exp.func("coalesce", total, exp.cast(_number(0), "double")), expression=x),
        expressions=[total, x],
    )
    return _call("aggregate", there, exp.cast(exp.null(), "double"), added)


def unnested(node: Node) -> Node:
    """Several lists that a SELECT unnests go side by side; Spark explodes one list per SELECT."""
    if not isinstance(node, exp.Select):
        return node
    several = [p for p in node.expressions if isinstance(p.unalias(), exp.Explode)]
    if len(several) < 2:
        return node
    names = [exp.to_identifier(p.alias_or_name, quoted=True) for p in several]
    zipped = _call("inline", _call("arrays_zip", *(p.unalias().this for p in several)))
    rest = [p for p in node.expressions if p not in several]
    node.set("expressions", [*rest, exp.Aliases(this=zipped, expressions=names)])
    return node


_LISTS: dict[str, Callable[..., Node]] = {
    "list_extract": _extract,
    "list_slice": _slice,
    "list_sum": _list_sum,
}


# ---- rows ----


def compared(node: Node) -> Node:
    """``(a, b) = (c, d)`` as Spark can join by it."""
    if not (
        isinstance(node, exp.EQ)
        and isinstance(node.this, exp.Tuple)
        and isinstance(node.expression, exp.Tuple)
    ):
        return node
    pairs = zip(node.this.expressions, node.expression.expressions)
    return exp.and_(*(exp.EQ(this=a.copy(), expression=b.copy()) for a, b in pairs), copy=False)


def member(node: Node) -> Node:
    """``(a, b) IN (SELECT (a, b) ...)`` as EXISTS: Spark joins by it. Under NOT it would compare all rows with all."""
    if not isinstance(node, exp.In) or not node.args.get("query"):
        return node
    query = node.args["query"].this
    keys = list(node.this.expressions) if isinstance(node.this, exp.Tuple) else [node.this.unnest()]
    asked = query.expressions
    if len(asked) == 1 and isinstance(asked[0].unnest(), exp.Tuple):
        query.set("expressions", asked[0].unnest().expressions)
    names = [f"key_{number}" for number in range(1, len(keys) + 1)]
    inner = exp.Subquery(
        this=query,
        alias=exp.TableAlias(this=exp.to_identifier("member"), columns=[exp.to_identifier(n) for n in names]),
    )
    same = exp.NullSafeEQ if isinstance(node.this, exp.Tuple) else exp.EQ
    where = exp.and_(*(same(this=exp.column(n, "member"), expression=k.copy()) for n, k in zip(names, keys)))
    return exp.Exists(this=exp.select("1").from_(inner).where(where))


def replaced(node: Node) -> Node:
    """``* REPLACE (x AS a)``: without a, and a after the others."""
    if not isinstance(node, exp.Select):
        return node
    for star in [p for p in node.expressions if isinstance(p, exp.Star) and p.args.get("replace")]:
        new = star.args["replace"]
        star.set("replace", None)
        star.set("except_", [exp.to_identifier(alias.alias) for alias in new])
        node.set("expressions", [*node.expressions, *new])
    return node


def _around(node: exp.Select, more: list[exp.Expr]) -> exp.Select:
    """A query around this one, with its results, order, limit and offset; inside, more columns for it."""
    moved = {key: node.args.pop(key) for key in ("order", "limit", "offset", "with_") if node.args.get(key)}
    node.set("expressions", [*node.expressions, *more])
    left_out = [exp.to_identifier(column.alias) for column in more]
    outer = exp.Select(expressions=[exp.Star(except_=left_out)])
    outer = outer.from_(
        exp.Subquery(this=node, alias=exp.TableAlias(this=exp.to_identifier("_all"))), copy=False
    )
    for key, value in moved.items():
        outer.set(key, value)
    return outer


def qualified(node: Node) -> Node:
    """QUALIFY is a column of the query, asked around it."""
    if not isinstance(node, exp.Select) or not node.args.get("qualify"):
        return node
    condition = node.args["qualify"].this
    node.set("qualify", None)
    meant = {
        p.alias: p.this
        for p in node.expressions
        if isinstance(p, exp.Alias) and not isinstance(p.this, exp.Column)
    }

    def spelled_out(of: Node) -> Node:
        name = of.name if isinstance(of, exp.Column) and not of.table else ""
        return exp.Paren(this=meant[name].copy()) if name in meant else of

    condition = condition.transform(spelled_out)
    return _around(node, [exp.alias_(condition, "_qualifies")]).where(exp.column("_qualifies"), copy=False)


def ordered(node: Node) -> Node:
    """ORDER BY sum(x) where a result is called x, too: to Spark x is the result. So the keys become columns."""
    order = node.args.get("order") if isinstance(node, exp.Select) and node.args.get("group") else None
    if not isinstance(node, exp.Select) or order is None or not order.find(exp.AggFunc):
        return node
    keys = []
    for number, key in enumerate(order.expressions, 1):
        name = f"_key_{number}"
        keys.append(exp.alias_(key.this.copy(), name))
        key.set("this", exp.column(name))
    return _around(node, keys)


def limits(node: Node) -> Node:
    """LIMIT and OFFSET of an int: Spark takes no number of 64 bits there."""
    if isinstance(node, (exp.Limit, exp.Offset)) and not isinstance(node.expression, exp.Literal):
        node.set("expression", exp.cast(node.expression, "int"))
    return node


# ---- aggregates ----


def filtered_windows(node: Node) -> Node:
    """``sum(x) FILTER (c) OVER w``: Spark's windows know no FILTER."""
    if not (isinstance(node, exp.Window) and isinstance(node.this, exp.Filter)):
        return node
    aggregate, condition = node.this.this, node.this.expression.this
    counted = _number(1) if isinstance(aggregate.this, exp.Star) else aggregate.this
    aggregate.set("this", exp.Case().when(condition, counted))
    node.set("this", aggregate)
    return node


def named_windows(node: Node) -> Node:
    """``OVER w`` in parentheses: Spark takes ``OVER w - x`` for a name."""
    return (
        exp.Paren(this=node)
        if isinstance(node, exp.Window) and not isinstance(node.parent, exp.Paren) and node.args.get("alias")
        else node
    )


def ties(node: Node) -> Node:
    """arg_max(x, y ORDER BY a), any_value(x ORDER BY a): Spark's have no order, so it is what the least is of."""
    if isinstance(node, (exp.ArgMax, exp.ArgMin)) and isinstance(node.expression, exp.Order):
        of, order = node.expression.this, node.expression
        there = exp.Not(this=exp.Is(this=of.copy(), expression=exp.null()))
        shown: Node = exp.Case().when(there, node.this)
        first = [exp.Neg(this=of) if isinstance(node, exp.ArgMax) else of]
    elif (
        isinstance(node, exp.IgnoreNulls)
        and isinstance(node.this, exp.AnyValue)
        and isinstance(node.this.this, exp.Order)
    ):
        order = node.this.this
        shown, first = order.this, []
    else:
        return node
    if any(key.args.get("desc") for key in order.expressions):
        return node
    keys = [*first, *(key.this for key in order.expressions)]
    return exp.ArgMin(this=shown, expression=exp.Tuple(expressions=keys))


def extremes(node: Node) -> Node:
    """arg_max leaves out rows whose value is null; max_by returns that null."""
    if not isinstance(node, (exp.ArgMax, exp.ArgMin)) or isinstance(node.parent, exp.Filter):
        if not (isinstance(node, exp.Filter) and isinstance(node.this, (exp.ArgMax, exp.ArgMin))):
            return node
        there = exp.Not(this=exp.Is(this=node.this.this.copy(), expression=exp.null()))
        node.expression.set("this", exp.and_(node.expression.this, there))
        return node
    there = exp.Not(this=exp.Is(this=node.this.copy(), expression=exp.null()))
    return exp.Filter(this=node, expression=exp.Where(this=there))


def quantiles(node: Node) -> Node:
    """quantile_cont(x, q): Spark's percentile interpolates in the same way."""
    if isinstance(node, exp.PercentileCont) and node.expression:
        return _call("percentile", node.this, node.expression)
    return node


# ---- text and time ----


def patterns(node: Node) -> Node:
    """Regular expressions as DuckDB (RE2) reads them: a dot takes all but a line feed, ``$`` is the end alone."""
    if not isinstance(node, (exp.RegexpExtract, exp.RegexpLike)):
        return node
    pattern = node.expression
    if isinstance(pattern, exp.Literal) and not pattern.this.startswith("(?d)"):
        text = pattern.this
        text = text[:-1] + "\\z" if text.endswith("$") and not text.endswith("\\$") else text
        node.set("expression", exp.Literal.string("(?d)" + text))
    return node


def times(node: Node) -> Node:
    """Seconds since 1970 with their fraction, and times of microseconds."""
    if isinstance(node, exp.TimeToUnix):
        micros = _call("unix_micros", exp.cast(node.this, exp.DataType.build("TIMESTAMPLTZ")))
        return _call("try_divide", micros, _number(1000000))
    return node


REWRITES: tuple[Callable[[Node], Node], ...] = (
    macros,
    qualified,
    ordered,
    replaced,
    limits,
    unnested,
    filtered_windows,
    named_windows,
    ties,
    extremes,
    quantiles,
    compared,
    member,
    rounded,
    elements,
    lists,
    ranges,
    divided,
    patterns,
    times,
)
"""In the order in which they are done."""
