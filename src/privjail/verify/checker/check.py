"""The loop over the nodes of a certificate, inputs first, and the release at the end.

For each node, facts are derived from the *claimed* facts of its inputs and compared with its own claims: each claimed
bound must be at least the derived one. So an error is reported at the node where it is made, and by induction all
claims are true if the verdict is "ok".
"""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from privjail.verify.checker import numbers, people, places, rows, two_tables
from privjail.verify.checker.cells import Cell, Drawn
from privjail.verify.checker.certificate import Certificate, Checked, read_certificate
from privjail.verify.checker.charges import above_shared_partitions, check_charges
from privjail.verify.checker.columns import Column, check_domain, row_wise_column
from privjail.verify.checker.domains import read_domain
from privjail.verify.checker.mechanisms import NORMS, check_noise, read_mechanism
from privjail.verify.checker.numbers import Numbers
from privjail.verify.checker.reading import LOWEST_INT, MALFORMED, number, place_in, whole_number
from privjail.verify.checker.rows import Rows
from privjail.verify.checker.verdict import CannotCheck, Refuted, Report

ROWS = {"source", "filter", "sort", "sample", "slice", "window", "group_head", "per_person", "pairs", "append"}
READ_COLUMNS = {"column", "carried", "lag"}
OF_PERSONS = {"aggregate", "lookup", "paired"}
NUMBERS = {
    "tally", "distinct", "quantile_scores", "public_number", "scale", "offset", "absolute", "element", "total",
    "extreme", "add", "stack", "column_stack", "vector_sum", "key_counts",
}  # fmt: skip


def check(certificate: Any) -> Report:
    """Check a certificate, as ``json.loads`` gives it: "ok", "refuted" or "cannot check"."""
    report = Report()
    try:
        check_all(certificate, report)
    except Refuted as error:
        report.verdict = "refuted"
        report.problems.append(f"{report.place}: {error}")
    except CannotCheck as error:
        report.verdict = "cannot check"
        report.problems.append(f"{report.place}: {error}")
    except MALFORMED as error:
        report.verdict = "cannot check"
        report.problems.append(f"{report.place}: malformed ({type(error).__name__})")
    return report


def check_all(given: Any, report: Report) -> None:
    """Raises Refuted or CannotCheck at the first problem; ``report.place`` says where."""
    certificate = read_certificate(given)
    for i, node in enumerate(given["nodes"]):
        report.place = f"node {i} ({node['kind']!s:.40})"
        fields = [certificate.field(each) for each in node["fields"]]
        certificate.checked.append(check_node(node["kind"], fields, node["claims"], certificate, report))
    report.place = "release"
    check_release(given["release"], certificate, report)


def check_node(
    kind: str, fields: list[Any], claims: dict[str, Any], certificate: Certificate, report: Report
) -> Checked:
    """Rows, private numbers, or a column: each kind of node has its own claims."""
    if kind in ROWS:
        if kind != "pairs":  # it compares columns of two tables, and checks that itself
            require_same_rows(fields, of_first=True)
        cells = certificate.cells(claims["cells"])
        return rows.check_claims(derived_rows(kind, fields, cells, certificate), claims, cells, report)
    if kind in NUMBERS:
        require_same_rows(fields, of_first=True)
        cells = certificate.cells(claims["cells"])
        return numbers.check_claims(derived_numbers(kind, fields, certificate), claims, cells, report)
    domain, node = read_domain(claims["domain"]), len(certificate.checked)
    match kind, fields:
        case "appended", [Rows(kind="append"), Column() | None, Column() | None]:
            return two_tables.appended(node, fields, domain)
    if kind in OF_PERSONS:
        column = column_of_persons(node, kind, fields, certificate)
        people.require_holds(domain, column.domain)
        return replace(column, domain=domain)
    require_same_rows(fields, of_first=False)
    if kind in READ_COLUMNS:
        column = read_column(node, kind, fields, certificate)
        if not domain.same_as(column.domain):
            raise Refuted("the claimed domain is not that of the column whose values these are")
        return column
    column = row_wise_column(node, kind, fields, domain)
    if not check_domain(column):
        report.note_larger("domain")
    return column


def require_same_rows(fields: list[Any], of_first: bool) -> None:
    """All columns of a node belong to one base; if its first field is rows (``of_first``), to the base of those."""
    columns = [x for each in fields for x in (each if isinstance(each, list) else [each]) if isinstance(x, Column)]
    bases = {column.base for column in columns if column.base is not None}
    if len(bases) > 1 or (of_first and bases and bases != {fields[0].base}):
        raise Refuted("columns of different rows are put together")


def derived_rows(kind: str, fields: list[Any], claimed: tuple[Cell, ...], certificate: Certificate) -> Rows:
    """The facts of rows, by the rule of their kind. A filter has a choice of cells: it checks the claimed ones."""
    node = len(certificate.checked)
    match kind, fields:
        case "source", [index]:
            known = certificate.data_sets[place_in(certificate.data_sets, index)]
            return rows.data_set(node, index, certificate.root(index), known.unit_rows)
        case "filter", [Rows() as input_, Column() as condition]:
            by_persons = partial(people.held_by_persons, input_, condition, claimed, certificate)
            return rows.filter_(node, input_, condition, claimed, by_persons)
        case "sort", [Rows() as input_, *_]:
            return rows.sort(node, input_)
        case "sample", [Rows() as input_, rate, tag]:
            if certificate.rows(input_.base).kind != "source":
                raise Refuted("a sample is drawn from the rows of a data set")
            drawn = rows.sample(node, input_, rate, tag, claimed)
            places.check_place(input_, Drawn(input_.node, rate, tag), claimed)
            return drawn
        case "slice", [Rows() as input_, start, stop]:
            return rows.slice_(node, input_, start, stop)
        case "window", [Rows() as input_, before, after]:
            return rows.window(node, input_, before, after)
        case "group_head", [Rows() as input_, Column() as key, most]:
            k = Fraction(whole_number(most, 1))
            if not people.is_owner(key, certificate.rows(input_.base), certificate):
                return rows.group_head(node, input_)
            return people.at_most(node, kind, input_, k, whole_persons(input_, certificate))
        case "per_person", [Rows() as input_, Column() as key]:
            if not people.is_owner(key, certificate.rows(input_.base), certificate):
                raise Refuted("one row for each value of a column that does not say whose row it is")
            return people.at_most(node, kind, input_, people.ONE, whole_persons(input_, certificate))
        case "pairs", [Rows(), [*_], Rows(), [*_], _]:
            return two_tables.joined(node, fields, certificate)
        case "append", [Rows() as input_, Rows() as other]:
            return two_tables.below_each_other(node, input_, other, claimed, certificate)
    raise CannotCheck(f"rows by {kind!s:.40} with these fields")


def whole_persons(input_: Rows, certificate: Certificate) -> tuple[Cell, ...]:
    """The cells of some rows, or those above them in which a person is as a whole or not at all."""
    return tuple(dict.fromkeys(above_shared_partitions(cell, certificate) for cell in input_.cells))


def column_of_persons(node: int, kind: str, fields: list[Any], certificate: Certificate) -> Column:
    """What is computed from the rows of a person, or looked up in another table of the same persons."""
    match kind, fields:
        case "aggregate", [Rows(kind="per_person") as persons, how, inner]:
            assert persons.input is not None
            if inner is not None and inner.base not in (None, persons.input.base):
                raise Refuted("the column belongs to other rows")
            domain = people.aggregate_domain(how, inner, certificate.rows(persons.input.base).edits)
            return Column(node, kind, fields, domain, persons.node)
        case "lookup", [[*_], Rows(), [*_], Column()]:
            return people.looked_up(node, fields, certificate)
        case "paired", [Rows(kind="pairs") as into, Column() as inner]:
            return two_tables.paired(node, into, inner)
    raise CannotCheck(f"a column by {kind} with these fields")


def read_column(node: int, kind: str, fields: list[Any], certificate: Certificate) -> Column:
    """A column whose values are taken from elsewhere: it has the domain of that column.

    "column": a column of a data set. "carried": the values of a column in rows that a slice, group_head or window
    made from the column's rows. "lag": over a window, the value k rows above, null where there is no such row.
    """
    match kind, fields:
        case "column", [Rows(kind="source") as source, name]:
            domain = certificate.data_sets[source.parameters[0]].domain(name)
            return Column(node, kind, fields, domain, source.node)
        case "carried", [Rows(kind="slice" | "group_head" | "window" | "pairs") as into, Column() as column]:
            if into.kind == "window" and min(into.parameters) < 0:
                raise Refuted("a row of this window does not see itself")
            domain = column.domain
        case "lag", [Rows(kind="window") as into, Column() as column, k]:
            before, after = into.parameters
            if not -after <= whole_number(k, LOWEST_INT) <= before:
                raise Refuted("a lag that looks outside of its window")
            domain = replace(column.domain, nullable=column.domain.nullable or k != 0)
        case _:
            raise CannotCheck(f"a column by {kind} from such rows")
    assert into.input is not None
    if column.base not in (None, into.input.base):
        raise Refuted("the column belongs to other rows")
    return Column(node, kind, fields, domain, into.node, (column,), column.with_ancestors)


def derived_numbers(kind: str, fields: list[Any], certificate: Certificate) -> Numbers:
    """The facts of private numbers, by the rule of their kind."""
    parts = [x for each in fields for x in (each if isinstance(each, list) else [each])]
    if any(isinstance(each, Numbers) and each.keyed for each in parts):
        raise Refuted("something is computed from counts of private keys")
    match kind, fields:
        case "key_counts", [Rows() as input_, Column() as key, person, per_person, most]:
            return private_keys(input_, key, person, (per_person, most), certificate)
        case "tally", [Rows() as input_, [*keys], column]:
            return numbers.tally(input_, keys, column)
        case "vector_sum", [Rows() as input_, [*columns]]:
            return numbers.vector_sum(input_, columns)
        case "distinct", [Rows() as input_, Column() as key]:
            return numbers.distinct(input_, key)
        case "quantile_scores", [Rows() as input_, Column(), [*points], below, above, target]:
            return numbers.quantile_scores(input_, points, below, above, target)
        case "public_number", [value]:
            return numbers.public_number(value)
        case "scale", [Numbers() as a, factor]:
            return numbers.scale(a, factor)
        case "offset", [Numbers() as a, constant]:
            return numbers.offset(a, constant)
        case "absolute", [Numbers() as a]:
            return numbers.absolute(a)
        case "element", [Numbers() as a, i]:
            return numbers.element(a, i)
        case "total", [Numbers() as a]:
            return numbers.total(a)
        case "extreme", [_, Numbers() as a]:
            return numbers.extreme(a)
        case "add", [Numbers() as a, Numbers() as b]:
            return numbers.add(a, b)
        case "stack" | "column_stack", [[*parts], [*labels]]:
            return numbers.stack(parts, labels)
    raise CannotCheck(f"numbers by {kind!s:.40} with these fields")


def private_keys(input_: Rows, key: Column, person: Any, limits: tuple[Any, Any], certificate: Certificate) -> Numbers:
    """Counts of persons by a key of theirs: the person is the owner of the rows, or nobody is."""
    per_person, most = (whole_number(each, 1) for each in limits)
    if key.domain.type not in ("string", "untyped", "Int64"):
        raise CannotCheck("private keys of this type")
    base = certificate.rows(input_.base)
    if person is not None and not (isinstance(person, Column) and people.is_owner(person, base, certificate)):
        raise Refuted("persons by a column that does not say whose row it is")
    return people.key_counts(input_, whole_persons(input_, certificate), person is not None, per_person, most)


def check_release(release: dict[str, Any], certificate: Certificate, report: Report) -> None:
    """Sensitivity, noise and charges of the one value that is released."""
    value = certificate.node(release["value"])
    if not isinstance(value, Numbers):
        raise Refuted("only private numbers are released")
    if release["charges"] is None:
        raise CannotCheck("the certificate does not say where the release was charged")
    mechanism, noise = read_mechanism(release["mechanism"]), release["noise"]
    if value.keyed != (mechanism.kind == "private_keys"):
        raise Refuted("counts of private keys leave through their own mechanism, and nothing else does")
    sensitivity = number(noise["sensitivity"])
    report.require("the sensitivity", sensitivity, value.sensitivity(NORMS[mechanism.kind]))
    on_own_grid = check_noise(mechanism, noise, value, sensitivity)
    charges = [(certificate.cell(cell), [number(x) for x in cost]) for cell, cost in release["charges"]]
    check_charges(mechanism, on_own_grid, value, charges, certificate, report)
