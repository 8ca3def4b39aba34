"""A table's declaration: what is public about it before anybody looks at a row.

Examples
--------
>>> from rashomon_explorer.schema import Categorical, Numeric, TableSchema
>>> schema = TableSchema([Numeric("age", (18, 90)), Categorical("home", ["own", "rent"])])
>>> schema.encoded_names
('age', 'home=own', 'home=rent')
"""

from rashomon_explorer.schema.anything import Anything
from rashomon_explorer.schema.categorical import Categorical
from rashomon_explorer.schema.column import Column
from rashomon_explorer.schema.encoder import TableEncoder
from rashomon_explorer.schema.kinds import KINDS
from rashomon_explorer.schema.numeric import Numeric
from rashomon_explorer.schema.ordered import Ordered
from rashomon_explorer.schema.proposal import propose_schema
from rashomon_explorer.schema.table_schema import TableSchema
from rashomon_explorer.schema.yes_no import YesNo

__all__ = [
    "KINDS",
    "Anything",
    "Categorical",
    "Column",
    "Numeric",
    "Ordered",
    "TableEncoder",
    "TableSchema",
    "YesNo",
    "propose_schema",
]
