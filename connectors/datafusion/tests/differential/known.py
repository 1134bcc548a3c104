# SPDX-License-Identifier: Apache-2.0
"""What is known to be different, each with its reason. Whatever is not here is
a fault of somebody's, and fails the test. A difference is looked up as it was
found, and once more when its statement is small.

SEMANTICS  marks of statements that DuckDB is not asked: it means another thing
LISTED     differences that are let pass: who differs, how it is recognized
"""
import re

SEMANTICS = {
    "wild float":
        "DataFusion orders floats by IEEE 754's total order, in which -0.0 is "
        "less than 0.0 and a negative NaN less than all; to DuckDB zeros are "
        "equal and NaN is the greatest.",
    "all but union":
        "DataFusion plans INTERSECT ALL and EXCEPT ALL as semi and anti joins, "
        "which do not count how often a row is there. Wrong, but the same with "
        "workers.",
}


class Listed:
    """name, reason
    pair         WEIR, PLAIN or DUCK: who differs; None: whoever
    error        pattern in the text of the error that one of them gave
    sql, marks   of the statement
    kind         how Difference.kind begins
    """

    def __init__(self, name, reason, pair, error=None, sql=None, marks=(),
                 kind=""):
        self.name, self.reason, self.pair = name, reason, pair
        self.error = error and re.compile(error)
        self.sql = sql and re.compile(sql)
        self.marks, self.kind = frozenset(marks), kind

    def covers(self, difference, sql, marks):
        pair = group(difference.left), group(difference.right)
        return (self.pair in (pair, None) and self.marks <= marks and
                difference.kind.startswith(self.kind) and
                (self.sql is None or self.sql.search(sql) is not None) and
                (self.error is None or
                 self.error.search(difference.text) is not None))


def group(name):
    """weir-2 and weir-4 are one to the table."""
    return name.split("-")[0]


# Weir and plain DataFusion; that with many partitions and with one, where weir
# did as the former; plain DataFusion and DuckDB.
WEIR, PLAIN, DUCK = ("weir", "plain"), ("plain", "plain"), ("plain", "duckdb")

LISTED = [
    # DuckDB refuses
    Listed("duckdb: outer join on a subquery",
           "DuckDB has no outer join whose condition has a subquery.", DUCK,
           error="Cannot perform non-inner join on subquery"),
    Listed("duckdb: internal error", "A fault of DuckDB 1.5.5.", DUCK,
           error="INTERNAL Error"),
    Listed("is a subquery with several rows run?",
           "It fails in both, but neither has to run what no row asks for.",
           DUCK, marks={"several rows"}, error="[Mm]ore than one row"),
    # DataFusion refuses, with workers and without
    Listed("NOT IN, correlated",
           "DataFusion's join for it has one key.", DUCK,
           error="null_aware anti join only supports single column"),
    Listed("subquery in that place",
           "DataFusion plans scalar, IN and EXISTS subqueries as joins, and "
           "has none for all places.", DUCK,
           error="Physical plan does not support logical expression "
           "(ScalarSubquery|InSubquery|Exists|SetComparison)"),
    Listed("correlated subquery in that place",
           "DataFusion has it in few places.", DUCK,
           error="Correlated scalar subquery (can only be used in|in the "
           "GROUP BY clause must)"),
    Listed("sliding accumulator",
           "DataFusion's bool_and and others have none.", DUCK,
           error="can not be used as a sliding accumulator"),
    Listed("ranges over values without a distance",
           "A window without a frame is one of a RANGE, and DataFusion wants "
           "numbers or texts for that, not binary values or times.", DUCK,
           error="Cannot run range queries on datatype"),
    Listed("minus a dictionary's integer", "DataFusion has no such kernel.",
           DUCK, error="Unary operator '-' only supports signed numeric"),
    Listed("ROLLUP of a subquery", "DataFusion's parser takes it for a set.",
           DUCK, error="ParserError", marks={"grouping sets"}),
    Listed("HAVING without a column",
           "DataFusion takes a literal or a subquery for a column that is not "
           "grouped.", DUCK, error="HAVING clause references"),
    Listed("literal NOT IN",
           "DataFusion's rule wants a column there.", DUCK,
           error="single expression required"),
    Listed("correlated subquery that may have several rows",
           "DataFusion wants an aggregate in it, or LIMIT 1.", DUCK,
           error="Correlated scalar subquery must be aggregated to return at "
           "most one row"),
    Listed("orders of aggregates",
           "DataFusion sorts once for all aggregates of a query.", DUCK,
           error="Conflicting ordering requirements in aggregate"),
    Listed("IGNORE NULLS within an argument",
           "DataFusion passes it on to functions in that argument.", DUCK,
           error="NULLS are not permitted for"),
    Listed("casts in aggregates' names",
           "DataFusion names sum(CAST(x AS DOUBLE)) and sum(x) alike.", DUCK,
           error="duplicate unqualified field name"),
    Listed("names of subqueries",
           "DataFusion's rules that make joins of subqueries, or aggregates "
           "around them, look for names from before an alias.", DUCK,
           error="Optimizer rule '[a-z_]+' failed.*No field named"),
    Listed("quantified subquery in ON",
           "The same, of a relation's own columns.", DUCK,
           marks={"quantified"}, error="No field named"),
    Listed("nothing but NULL in a subquery",
           "DataFusion takes a literal in it to be never NULL, also where "
           "there is no row. Workers may answer where one process fails.",
           None,
           error="is declared as non-nullable but contains null values"),
    Listed("never NULL, or not?",
           "An aggregate's input may be NULL to DataFusion's physical plan "
           "where its logical plan says never (IS NOT FALSE of what is).",
           None, error="Physical input schema should be the same"),
    Listed("coalesce of binary values",
           "DataFusion has no common type of BinaryView and the others.", DUCK,
           error="'coalesce' user-defined coercion failed"),
    Listed("casts in names",
           "DataFusion names CAST(x AS T) and x alike in what it plans for "
           "GROUP BY and for subqueries.", DUCK,
           error="Projections require unique expression names"),
    Listed("names with and without a table",
           "DataFusion's GROUP BY of a subquery's column and of another of its "
           "name.", DUCK, error="Schema contains qualified field name"),
    Listed("columns of a correlated subquery",
           "DataFusion looks for the outer ones among its own.", DUCK,
           error="No field named.*__correlated_sq"),
    Listed("two windows of one function",
           "DataFusion plans one of them by the name of the other.", DUCK,
           error="does not support logical expression WindowFunction"),
    Listed("functions of dictionaries",
           "DataFusion's abs and others have none; which plan has which type "
           "depends on partitions.", None,
           error="Unsupported data type Dictionary"),
    Listed("batches of no column",
           "DataFusion makes one without a number of rows below a window of a "
           "subquery's value; with workers that value was put in.", WEIR,
           error="must either specify a row count"),
    Listed("ROLLUP of a condition",
           "DataFusion rewrites NOT IN within it, and looks for its columns "
           "by the name from before.", DUCK, marks={"grouping sets"},
           error="No field named"),
    Listed("ROLLUP of a subquery's value",
           "Its value is put in where workers run, and DataFusion does not "
           "expand sets of what is constant.", WEIR,
           error="does not support logical expression GroupingSet"),
    Listed("joins by dictionaries of integers",
           "DataFusion's map of a join has none, or a join by sorting "
           "compares none; which join is taken depends on partitions.", None,
           error="Unsupported (type for ArrayMap: Dictionary|data type in "
           "sort merge join comparator)"),
    # DataFusion gets wrong, with workers and without
    Listed("date_trunc of NULL",
           "DataFusion computes with what lies under a NULL; a debug build "
           "panics of the overflow.", DUCK, kind="lost",
           error="date_trunc.rs"),
    Listed("sort-merge join with a filter",
           "With prefer_hash_join = false DataFusion's join reads past its "
           "mask.", PLAIN, error="sort_merge_join/filter.rs"),
    Listed("sort below a sort-merge join",
           "With prefer_hash_join = false, and several partitions, DataFusion "
           "takes columns of the other side.", PLAIN,
           error="column types must match schema types"),
    Listed("order of a constant",
           "DataFusion takes a column that is constant on one side of an outer "
           "join for constant behind it, and plans without a sort.", PLAIN,
           error="does not satisfy order requirements"),
    Listed("order of a constant, in one partition",
           "The same.", DUCK, error="does not satisfy order requirements"),
    Listed("order of a constant, without an error",
           "The same in one partition: rows come as they come.", None,
           kind="order", sql="(LEFT|RIGHT|FULL) JOIN"),
    Listed("DISTINCT of a constant",
           "The same: one group is taken for all rows.", None, kind="rows",
           sql="DISTINCT.*(LEFT|RIGHT|FULL) JOIN"),
    Listed("NOT IN a subquery, of NULL or in an expression",
           "It may be NULL; to DataFusion's join for it, it is true.", DUCK,
           kind="rows", sql=r"IN \(SELECT"),
    Listed("condition below an aggregate",
           "DataFusion moves a condition that is never true below an aggregate "
           "without a group, which gives a row nevertheless.", DUCK,
           kind="rows", error="^1 and 0 rows; only the first has",
           sql=r"(HAVING|WHERE)"),
    Listed("CASE above an outer join",
           "DataFusion takes it for false where a column is NULL, and makes "
           "an inner join.", None, kind="rows",
           sql="(LEFT|RIGHT|FULL) JOIN.*WHERE.*CASE"),
    Listed("anti join on a constant",
           "DataFusion filters the left side by what is said of the right.",
           DUCK, kind="rows", sql=r"ANTI JOIN \(SELECT.*\bAS\b"),
    Listed("corr of constants",
           "NULL to DataFusion, not a number to DuckDB.", DUCK, kind="rows",
           sql=r"(corr|regr_[a-z]+)\("),
    Listed("first of a union, by what may be NULL",
           "DataFusion keeps statistics of a maximum that is NULL, and cuts "
           "off the wrong branch; workers have none.", None, kind="rows",
           sql=r"UNION ALL.*ORDER BY \w+ DESC.*LIMIT"),
    Listed("windows that are taken for sorted",
           "DataFusion takes min and max over a frame that grows for sorted, "
           "also where its order has NULLs, and groups what follows one "
           "another.", None, kind="rows",
           sql=r"(DISTINCT|GROUP BY|ORDER BY|UNION).*(min|max)\(.*OVER \(|"
           r"(min|max)\(.*OVER \(.*(DISTINCT|GROUP BY|UNION)"),
    Listed("order by a window that is taken for sorted", "The same.", None,
           kind="order", sql=r"(min|max)\(.*OVER \("),
    Listed("sets of groups and a constant",
           "DataFusion groups by sets once only where nothing of the row is "
           "asked for.", None, kind="rows",
           sql=r"SELECT [^()]* AS c\d+ FROM .* "
           r"GROUP BY (ROLLUP|CUBE|GROUPING)"),
    Listed("IGNORE NULLS of lead, and of frames that begin later",
           "DataFusion skips rows of the frame's beginning.", DUCK, kind="rows",
           sql="IGNORE NULLS"),
    Listed("partitioned and ordered by the same",
           "DataFusion takes the order for given.", PLAIN, kind="rows",
           sql=r"PARTITION BY (\w+\.\w+) ORDER BY \1\b"),
    Listed("wild floats in an outer join",
           "Which of equal floats stands for its group depends on partitions.",
           PLAIN, kind="rows", sql=r"f64w?\b.*(LEFT|RIGHT|FULL) JOIN"),
    Listed("inner join on a computed float",
           "DataFusion prunes the other side by a range that it rounded.", None,
           kind="rows", sql=r"CAST\(\w+\.id AS REAL\).* JOIN "),
    Listed("window above an anti join on a constant",
           "See there; which rows are left depends on partitions.", None,
           kind="rows", sql=r"OVER \(.*LEFT ANTI JOIN"),
]


def listed(difference, sql, marks):
    """The entry that covers a difference, or None."""
    for entry in LISTED:
        if entry.covers(difference, sql, marks):
            return entry
    return None
