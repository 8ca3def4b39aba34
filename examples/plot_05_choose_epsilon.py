"""
Choose a privacy budget
=======================

What does an ε guarantee, and what does it reveal about one person?
"""

# %%
# The guaranteed hit rate by privacy cost, for several numbers of models. No row is read.
from rashomon_explorer.mechanisms import explain, plan
from rashomon_explorer.plots import plot_costs

planned = plan(50_000, 11, psi=0.02, radius=4.0, row_norm=1.5, epsilon=4.0, n_draws=20)
plot_costs(planned, clicked=False)

# %%
# The same in words:
print(explain(planned))

# %%
# With ε, how often can somebody who knows everything about the table but one row guess whether
# that row is of one person or another?
import math

for epsilon in (0.5, 1, 2, 4):
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    print(f"ε = {epsilon}: at most {right:.0%} of the guesses are right")
# sphinx_gallery_thumbnail_path = "../examples/pictures/05_choose_epsilon.png"
