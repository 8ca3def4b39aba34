"""
What does a guarantee mean for one person?
==========================================

A guarantee bounds every test that tells whether one person's row was in the table.
"""

# %%
# The best possible test misses at least this share of the cases, at each rate of false alarms.
from rashomon_explorer.mechanisms import plan
from rashomon_explorer.plots import attack_in_words, plot_tradeoff

planned = plan(50_000, 11, psi=0.02, radius=4.0, row_norm=1.5, epsilon=1.0, n_draws=1)
plot_tradeoff(planned.guarantee)

# %%
print(attack_in_words(planned.guarantee))

# %%
# Twenty models cost less than twenty times one.
from rashomon_explorer.privacy import bounded_range, compose

one = bounded_range(eta=0.2)
for count in (1, 5, 20):
    together = compose([one] * count).epsilon(1e-6)
    print(f"{count} draws: ε = {together:.2f}, the sum would be {0.2 * count:.1f}")
# sphinx_gallery_thumbnail_path = "../examples/pictures/12_tradeoff.png"
