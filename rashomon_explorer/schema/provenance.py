"""What of a schema was read off the rows and confirmed by nobody, and the part that may leave."""

from rashomon_explorer.schema.anything import Anything
from rashomon_explorer.schema.column import Column
from rashomon_explorer.schema.table_schema import TableSchema

_NAMED_ROLES = ("sensitive", "target")


def data_dependent(schema: TableSchema) -> dict[str, tuple[str, ...]]:
    """Values that were read off the rows and that nobody confirmed, by column, in every role.

    A fit asks for less (:attr:`TableSchema.unconfirmed`): it looks at no sensitive column.

    Examples
    --------
    >>> from rashomon_explorer.schema import Numeric
    >>> pay = Numeric("pay", (1, 9), role="sensitive", learnt=["bounds"])
    >>> schema = TableSchema([Numeric("age", (18, 90)), pay])
    >>> data_dependent(schema), schema.unconfirmed
    ({'pay': ('bounds',)}, {})
    """
    return {column.name: tuple(column.learnt) for column in schema.columns if column.learnt}


def public_part(schema: TableSchema) -> TableSchema:
    """Keep what may leave: of a column with a value read off the rows, its name and role alone.

    Examples
    --------
    >>> from rashomon_explorer.schema import Numeric
    >>> pay = Numeric("pay", (1, 9), role="sensitive", learnt=["bounds"])
    >>> public_part(TableSchema([Numeric("age", (18, 90)), pay]))
    TableSchema
      age  numeric 18 to 90
      pay  anything, sensitive
    """
    return TableSchema([_public_column(column) for column in schema.columns])


def _public_column(column: Column) -> Column:
    if not column.learnt:
        return column
    # Which columns a proposal ignores follows from the rows; sensitive ones and targets are named.
    role = column.role if column.role in _NAMED_ROLES else "ignore"
    return Anything(column.name, role=role, description=column.description)


def labels_unconfirmed(schema: TableSchema | None) -> bool:
    """Whether the target's labels were found in the rows and nobody confirmed them.

    Examples
    --------
    >>> from rashomon_explorer.schema import YesNo
    >>> labels_unconfirmed(TableSchema([YesNo("repaid", role="target", learnt=["levels"])]))
    True
    """
    target = None if schema is None else schema.target
    return target is not None and "levels" in target.learnt
