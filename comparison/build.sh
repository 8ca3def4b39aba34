# Build the new layout in a worktree: bash comparison/build.sh ROOT
set -e
cd "$1"
PY=${PYTHON:-.venv/bin/python}
fix() { $PY -m ruff check --fix -q . >/dev/null || true; $PY -m ruff format -q .; $PY comparison/wrap_long_lines.py >/dev/null; $PY -m ruff format -q .; $PY -m ruff check . --output-format concise || true; }
python3 comparison/edits_before_move.py .; python3 comparison/move.py comparison/house.map . > /dev/null
sed -i '137s/:class:`rashomon_explorer.problem.problem.Problem` has it/:class:`Problem` has it/' rashomon_explorer/measures/ranges/level_set.py
python3 - <<'P'
import pathlib,re
p=pathlib.Path("rashomon_explorer/mechanisms/objective_perturbation/plan.py"); s=p.read_text()
s=s.replace("(:func:`~rashomon_explorer.mechanisms.objective_perturbation.accounting.plan_perturbed_objective`)","(``accounting.plan_perturbed_objective``)"); p.write_text(s)
P
fix
python3 comparison/move_tests.py .
for d in blocks schema datasets losses domains envelopes planning samplers one_model tuning theory rashomon_set selection; do rm -rf tests/$d; done
python3 comparison/edits_after_move.py
fix
sed -i '137s/rashomon_explorer.problem.problem.Problem/Problem/' rashomon_explorer/measures/ranges/level_set.py; fix
