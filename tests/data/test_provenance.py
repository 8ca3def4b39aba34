"""Values that were read off the rows: what a fit may use, and what may leave."""

import pandas as pd
import pytest

from rashomon_explorer.data import Categorical, Numeric, TableSchema, YesNo, propose_schema
from rashomon_explorer.data.columns import ROLES
from rashomon_explorer.data.schema import data_dependent, labels_unconfirmed, public_part

MARKED = ("kind", "bounds", "typical", "missing")


@pytest.mark.parametrize("role", ROLES)
def test_a_value_read_off_the_rows_leaves_in_no_role(role):
    pay = Numeric("pay", (1.0, 977.0), role=role, learnt=MARKED, description="a wage")
    schema = TableSchema([Numeric("age", (18, 90)), pay])
    assert data_dependent(schema) == {"pay": MARKED}
    assert bool(schema.unconfirmed) == bool(schema.leak) == (role in ("feature", "target"))
    told = public_part(schema)
    assert "977" not in told.to_toml() and list(told) == ["age", "pay"]
    assert told["age"] == schema["age"] and told["pay"].description == "a wage"
    assert told["pay"].role == (role if role in ("sensitive", "target") else "ignore")
    confirmed = schema.confirm("pay")
    assert data_dependent(confirmed) == {} and public_part(confirmed) == confirmed


def test_of_neighbouring_tables_the_public_part_of_a_proposal_is_the_same():
    usual = pd.DataFrame({"id": range(60), "pay": [1.5, 2, 3] * 20, "sex": ["f", "m"] * 30})
    tables = [usual]
    for column, value in {"id": 8, "pay": 977.0, "sex": "x"}.items():
        tables.append(usual.copy())
        tables[-1].loc[7, column] = value
    found = [propose_schema(table, sensitive=["sex"]) for table in tables]
    assert len({schema.to_toml() for schema in found}) == 4  # the control
    assert len({public_part(schema).to_toml() for schema in found}) == 1


def test_the_role_of_a_sensitive_column_leaves_whatever_its_number_of_levels():
    cells = [f"word {k}" for k in range(51)]
    tables = [pd.DataFrame({"note": words}) for words in (cells, [*cells[:-1], cells[0]])]
    found = [propose_schema(table, sensitive=["note"]) for table in tables]
    assert {schema["note"].kind for schema in found} == {"anything", "categorical"}  # the control
    assert len({public_part(schema).to_toml() for schema in found}) == 1


def test_labels_alone_are_an_assumption_and_void_no_guarantee():
    def schema(learnt, role="target"):
        return TableSchema([Numeric("age", (18, 90)), YesNo("y", role=role, learnt=learnt)])

    assert labels_unconfirmed(schema(["levels"])) and schema(["levels"]).leak == ""
    assert labels_unconfirmed(schema(["kind", "levels"])) and schema(["kind", "levels"]).leak
    assert schema(["levels"], "feature").leak and not labels_unconfirmed(schema([]))
    assert not labels_unconfirmed(None) and not labels_unconfirmed(TableSchema([]))
    target = Categorical("y", ["a", "b"], role="target", learnt=["levels"])
    assert not labels_unconfirmed(TableSchema([target]).confirm("y"))
