"""The declaration of a table on the page: proposed, marked, corrected, confirmed, saved."""

import io
import sys
import zipfile
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer.data import TableSchema, load_csv
from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.explorer import Explorer, table_files
from rashomon_explorer.explorer.panels.data import OWN_FILE
from rashomon_explorer.explorer.table_editor import TableEditor, remarks


@pytest.fixture
def panel(explorer, table):
    explorer.data_panel.name.value = OWN_FILE
    panel = explorer.data_panel.schema
    panel.file.choose(table.name, table.read_bytes())
    return panel


def _row(panel, name):
    return next(row for row in panel.form.rows if row["name"] == name)


def test_a_table_is_proposed_and_every_learnt_value_is_marked(panel, explorer):
    assert [row["name"] for row in panel.form.rows] == ["age", "debt", "sex", "repaid"]
    assert _row(panel, "age")["learnt"] == ["kind", "bounds", "typical", "missing"]
    target = _row(panel, "repaid")
    assert (target["role"], target["levels"]) == ("target", "no | yes")
    assert len(_row(panel, "age")["shape"]) == 12
    assert "To be confirmed: &#x27;age&#x27;" in panel.notes.value
    assert explorer.data is None and "Check the proposed schema" in explorer.state.message
    panel.use.click()  # what nobody confirmed has no guarantee and no price
    assert explorer.state.alert is None
    assert explorer.data.bounds_learnt and "no guarantee" in explorer.data_panel.about.value
    explorer.draw()
    assert not explorer.guarantee.holds and explorer.ledger is None
    panel.use.click()
    assert "public schema" not in explorer.state.message
    panel.confirm.click()  # applies at once
    assert not explorer.data.bounds_learnt and explorer.rashomon_set is None
    assert "no guarantee" not in explorer.data_panel.about.value
    assert "public schema" in explorer.state.message and explorer.drawing.quote().cost is not None


@pytest.mark.slow
def test_corrected_and_confirmed_it_is_drawn_from_by_its_schema(panel, explorer, tmp_path):
    for edit in (("low", "18"), ("high", "90"), ("unit", "years")):
        panel.form.do("age", *edit)
    assert "bounds" in _row(panel, "age")["learnt"]  # until it is confirmed
    panel.form.do("sex", "role", "sensitive")
    panel.form.do("debt", "confirm")
    assert _row(panel, "debt")["learnt"] == []
    panel.confirm.click()
    assert panel.notes.value == "" and panel.confirm.disabled
    assert explorer.state.alert is None
    assert explorer.data.bounds["age"] == (18.0, 90.0) and not explorer.data.bounds_learnt
    assert list(explorer.data.sensitive) == ["sex"]
    explorer.draw()
    assert explorer.guarantee.holds and explorer.ledger.path.name == "loans.ledger"
    file = panel.saver.fetch()
    saved = TableSchema.from_toml(file.content.decode())
    assert file.name == "loans.toml" and saved["age"].unit == "years"
    again = load_csv(tmp_path / "loans.csv", schema=saved)
    pd.testing.assert_frame_equal(again.X, explorer.data.X)
    other = Explorer(home=tmp_path).data_panel  # the same rows under another name
    other.name.value, copy = OWN_FILE, other.schema
    copy.file.choose("renamed.csv", (tmp_path / "loans.csv").read_bytes())
    copy.form.do("sex", "role", "sensitive")
    copy.confirm.click()
    copy.use.click()
    assert "charged to loans.ledger before" in copy.notes.value


def test_what_cannot_be_is_said_beside_its_row_and_nothing_changes(panel):
    before = panel.table
    for edit, told in (
        (("age", "low", "200"), "must have low < high"),
        (("age", "high", "ninety"), "'ninety' is not a number"),
        (("sex", "levels", "f"), "two levels"),
        (("sex", "kind", "numeric"), "cannot be numeric"),
        (("sex", "low", "1"), "is not numeric"),
    ):
        panel.form.do(*edit)
        assert told in _row(panel, edit[0])["problem"]
        assert panel.table is before
    panel.form.do("sex", "missing", "fill")
    assert _row(panel, "sex")["problem"] == ""


def test_another_kind_or_target_changes_what_depends_on_it(panel, explorer):
    panel.form.do("sex", "kind", "anything")
    assert _row(panel, "sex")["role"] == "ignore"
    panel.form.do("sex", "role", "feature")
    assert "once its kind is declared" in _row(panel, "sex")["problem"]
    panel.form.do("sex", "kind", "ordered")
    line = _row(panel, "sex")
    assert (line["role"], line["levels"]) == ("feature", "f | m")
    assert "levels" in line["learnt"] and "kind" not in line["learnt"]
    panel.form.do("debt", "role", "target")
    assert _row(panel, "repaid")["role"] == "feature"
    assert panel.table.schema.target.name == "debt"
    panel.confirm.click()
    panel.use.click()
    assert explorer.data.task == "regression" and explorer.state.loss == "squared"


def test_a_dictionary_is_taken_over_from_the_box_or_a_file(panel, explorer):
    panel.dictionary.value = "name,kind,low,high,unit\nage,numeric,18,90,years\n"
    panel.take.click()
    assert (_row(panel, "age")["learnt"], _row(panel, "age")["unit"]) == ([], "years")
    assert _row(panel, "debt")["learnt"]
    panel.dictionary_file.choose("s.toml", b"[columns.debt]\nkind = 'numeric'\nbounds = [0, 1]\n")
    assert _row(panel, "debt")["learnt"] == []
    panel.dictionary.value = "name,kind\nage,tall\n"
    panel.take.click()
    assert "age" in explorer.state.alert.reason and _row(panel, "age")["high"] == "90"


def test_what_is_no_table_is_refused_in_words(panel, explorer, monkeypatch):
    for module in ("pyarrow", "pyarrow.parquet"):  # not installed
        monkeypatch.setitem(sys.modules, module, None)
    for name, content, told in (
        ("picture.csv", b"\x89PNG\xff\x81", "is neither UTF-8 text"),
        ("table.ods", b"", "none of .csv, .tsv, .txt, .xlsx"),
        ("loans.parquet", b"PAR1", "pip install pyarrow, or save the table as CSV"),
    ):
        panel.file.choose(name, content)
        assert told in explorer.state.alert.reason and panel.table is None
    monkeypatch.setattr(panel.file, "most_bytes", 10)
    panel.file.choose("big.csv", b"a,b\n" * 10)
    assert "at most" in explorer.state.alert.reason


def test_remarks_name_a_leak_a_copy_of_the_target_and_what_lacks():
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], 400)
    frame = pd.DataFrame({"honest": rng.normal(size=400), "repaid_late": rng.normal(size=400)})
    frame["paid"] = np.where(y == "yes", 1, 0) + rng.normal(0, 0.01, 400)
    frame["name"] = [f"person {i}" for i in range(400)]
    frame["repaid"] = y
    told = " ".join(remarks(TableEditor.proposed("loans", frame)))
    assert "'paid' alone predicts 'repaid'" in told and "'repaid_late' sounds like" in told
    assert "honest" not in told and "'name'" not in told
    days = pd.date_range("2021-01-04", periods=400, freq="7h").strftime("%d.%m.%Y %H:%M")
    dated = TableEditor.proposed("loans", frame.assign(day=days)[["day", *frame]])
    assert any("'day' looks like dates" in one for one in remarks(dated))
    prices = pd.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400)})
    prices["twice"], prices["price"] = 2 * prices["a"], prices["a"]
    told = remarks(TableEditor.proposed("prices", prices))
    assert len(told) == 2 and "'b'" not in " ".join(told)
    untargeted = TableEditor.proposed("prices", prices).edited("price", "role", "ignore")
    assert "No target column" in remarks(untargeted)[0]


@pytest.mark.parametrize(
    ("columns", "target"),
    [
        (["age", "repaid", "day"], "repaid"),  # the last that can be predicted
        (["age", "Target", "repaid"], "Target"),  # it is called so
        (["age", "target", "label", "repaid"], "repaid"),  # two are: nobody knows which
        (["day", "age", "repaid"], "repaid"),
    ],
)
def test_the_target_that_is_proposed_can_be_predicted(columns, target):
    days = pd.date_range("2021-01-04", periods=60, freq="7h").strftime("%d.%m.%Y %H:%M")
    known = {"age": range(20, 80), "day": days, "repaid": ["yes", "no"] * 30}
    frame = pd.DataFrame({one: known.get(one, [1, 2, 3] * 20) for one in columns})
    proposed = TableEditor.proposed("loans", frame).schema
    assert proposed.target.name == target
    assert [one.name for one in proposed.columns if one.role == "target"] == [target]


def test_confirm_works_for_columns_that_no_model_sees(panel, explorer):
    panel.form.do("sex", "role", "sensitive")
    for column in ("age", "debt", "repaid"):
        panel.form.do(column, "confirm")
    assert panel.table.schema.unconfirmed == {} and _row(panel, "sex")["learnt"]
    assert not panel.confirm.disabled and "not confirmed: &#x27;sex&#x27;" in panel.notes.value
    panel.use.click()
    assert not explorer.data.bounds_learnt and explorer.state.uncharged == ""
    assert explorer.aggregates.groups == {}
    panel.form.do("sex", "confirm")
    assert panel.confirm.disabled and panel.notes.value == ""
    assert dict(explorer.aggregates.groups) == {"sex": ("f", "m")}
    panel.form.do("repaid", "kind", "anything")  # its labels are found, shown and confirmed
    panel.confirm.click()
    assert panel.confirm.disabled
    panel.use.click()
    assert _row(panel, "repaid")["levels"] == "no | yes" and explorer.state.uncharged
    panel.confirm.click()
    assert explorer.state.uncharged == ""


@pytest.mark.slow
def test_found_labels_are_confirmed_by_one_press_and_paid_sets_come_back(table, tmp_path):
    declared = {"bounds": {"age": (18, 90), "debt": (0, 1)}, "sensitive": ["sex"]}
    explorer = Explorer(data=load_csv(table, target="repaid", **declared), home=tmp_path)
    panel, state = explorer.data_panel.schema, explorer.state
    assert "the labels of &#x27;repaid&#x27;" in explorer.draw_panel.price.value
    assert "nothing is charged" in explorer.draw_panel.price.value
    state.n_draws, state.mechanism = 2, "langevin"
    explorer.draw()
    assert not explorer.guarantee.holds and explorer.ledger is None
    with pytest.raises(LedgerError, match="labels of 'repaid'"):
        explorer.single.order()
    assert not panel.confirm.disabled
    panel.confirm.click()
    assert state.uncharged == "" and panel.confirm.disabled and state.alert is None
    explorer.draw()
    assert explorer.guarantee.holds and explorer.ledger.spent() > 0
    assert explorer.aggregates.contents().schema.classes == ("no", "yes")
    again = Explorer(data=load_csv(table, target="repaid", **declared), home=tmp_path)
    assert again.rashomon_set is None and again.state.saved_sets
    again.data_panel.schema.confirm.click()
    assert np.array_equal(again.rashomon_set.coef, explorer.rashomon_set.coef)


def test_a_table_of_a_european_spreadsheet_is_read_and_its_encoding_is_named(panel, explorer):
    rows = "".join(f"{k},5;{'Köln' if k % 2 else 'Zürich'};{k % 3 == 0}\n" for k in range(60))
    panel.file.choose("orte.csv", f"größe;ort;ziel\n{rows}".encode("cp1252"))
    assert explorer.state.alert is None and list(panel.table.frame) == ["größe", "ort", "ziel"]
    assert set(panel.table.frame["ort"]) == {"Köln", "Zürich"}
    assert "Windows-1252" in explorer.state.detail
    panel.file.choose("orte.csv", f"größe;ort;ziel\n{rows}".encode("utf-16"))
    assert set(panel.table.frame["ort"]) == {"Köln", "Zürich"}


def test_the_index_of_a_parquet_file_is_a_column(panel):
    pytest.importorskip("pyarrow")
    content = io.BytesIO()
    pd.DataFrame(
        {"sex": ["f", "m"] * 9, "paid": ["no", "yes"] * 9},
        index=pd.Index([f"ward {k % 3}" for k in range(18)], name="ward"),
    ).to_parquet(content)
    panel.file.choose("clinic.parquet", content.getvalue())
    assert list(panel.table.frame) == ["ward", "sex", "paid"]


def test_a_small_file_that_unpacks_to_much_is_refused_first(panel, explorer, monkeypatch):
    monkeypatch.setattr(table_files, "_MOST_CELLS", 20_000)
    monkeypatch.setattr(table_files, "_MOST_UNPACKED", 4_000_000)
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    column, bomb = pa.array(np.zeros(1_000, dtype=int)), io.BytesIO()
    writer = parquet.ParquetWriter(bomb, pa.schema([("a", pa.int64()), ("y", pa.int64())]))
    for _ in range(11):
        writer.write_table(pa.table({"a": column, "y": column}))
    writer.close()
    panel.file.choose("bomb.parquet", bomb.getvalue())
    assert "22,000 cells" in explorer.state.alert.reason and panel.table is None
    sheet = io.BytesIO()
    with zipfile.ZipFile(sheet, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as entry:
            entry.write(bytes(5_000_000))
    panel.file.choose("bomb.xlsx", sheet.getvalue())
    assert "unpacks to 5 MB" in explorer.state.alert.reason and panel.table is None


def test_a_long_text_in_many_rows_of_a_parquet_file_is_counted_before_it_is_copied(panel, explorer):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    content, rows = io.BytesIO(), pa.array(np.zeros(20_000, dtype="int32"))
    notes = pa.DictionaryArray.from_arrays(rows, pa.array(["x" * 100_000]))
    parquet.write_table(pa.table({"note": notes, "paid": rows}), content)
    panel.file.choose("notes.parquet", content.getvalue())
    assert "unpacks to 2,000 MB" in explorer.state.alert.reason and panel.table is None


_ROWS = [
    [20 + k % 50, 1000.5 + k, pd.Timestamp(2020, 1, 1 + k % 28), k % 3 == 0] for k in range(40)
]
_NAMES = ["age", "income", "since", "paid"]
_SHEETS = {
    "plain": ([_NAMES, *_ROWS], ""),
    "below a title": (
        [["Clinic", None, None, None], [None] * 4, _NAMES, *_ROWS],
        "header in line 3",
    ),
    "below merged cells": ([["person", None, "account", None], _NAMES, *_ROWS], "header in line 2"),
    "beside empty columns": ([[None, *row[:2], None, *row[2:]] for row in (_NAMES, *_ROWS)], ""),
    "no name": ([["age", None, *_NAMES[2:]], *_ROWS], "column 2 has no name in line 1"),
    "repeated": ([["age", "age", *_NAMES[2:]], *_ROWS], "column 'age' occurs 2 times"),
    "no rows": ([_NAMES], "no rows below it"),
}


def _stored(rows):
    """Content of an Excel file of two sheets."""
    openpyxl = pytest.importorskip("openpyxl")
    book, content = openpyxl.Workbook(), io.BytesIO()
    book.active["A1"] = "Read me"
    data = book.create_sheet("data")
    for row in rows:
        data.append(row)
    book.save(content)
    return content.getvalue()


@pytest.mark.parametrize("sheet", _SHEETS)
def test_a_sheet_is_read_from_its_header_on(sheet, panel, explorer):
    rows, told = _SHEETS[sheet]
    panel.file.choose("sheet.xlsx", _stored(rows))
    if explorer.state.alert is not None:
        assert told in explorer.state.alert.reason and panel.table is None
        return
    assert told in explorer.state.detail and "sheet 'data'" in explorer.state.detail
    frame = panel.table.frame
    assert list(frame) == _NAMES and frame.shape == (40, 4)
    assert [frame[name].dtype.kind for name in _NAMES] == ["i", "f", "M", "b"]
    assert panel.table.schema.target.name == "paid"


def test_an_excel_file_names_what_reads_it(panel, explorer, monkeypatch):
    monkeypatch.setattr(pd, "read_excel", Mock(side_effect=ImportError("openpyxl")))
    panel.file.choose("sheet.xlsx", b"PK")
    assert "pip install openpyxl" in explorer.state.alert.reason


def test_the_page_asks_for_the_decimal_mark_and_reads_the_file_again(panel, explorer):
    rows = "".join(f"{1 + k},549\t{'yes' if k % 2 else 'no'}\n" for k in range(60))
    panel.file.choose("income.tsv", f"income\tpaid\n{rows}".encode())
    assert panel.table is None and "1549 (commas separate thousands)" in explorer.state.alert.reason
    assert panel.decimal.layout.display != "none"
    panel.decimal.value = "."
    assert panel.table.frame["income"].tolist()[:2] == [1549, 2549] and not panel.file.content
    assert "decimal='.'" in panel.lines()[1] and explorer.state.alert is None
    panel.file.choose("cut.csv", "a;b\n1;yes\n".encode("utf-16")[:-1])
    assert "half a character" in explorer.state.alert.reason and panel.decimal.value is None
