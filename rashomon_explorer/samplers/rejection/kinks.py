"""Which losses exact rejection cannot take, known from public numbers alone."""

import math

from rashomon_explorer.constants import Constants
from rashomon_explorer.exceptions import SamplerError


def refuse_kinks(constants: Constants) -> None:
    """Refuse a loss with kinks before a row is read, so that no row decides what is told.

    Raises
    ------
    SamplerError
        If no smoothness is known.

    Examples
    --------
    >>> from rashomon_explorer.domains import Ball
    >>> refuse_kinks(Constants.of("logistic", n=9, p=2, domain=Ball(1.0), row_bound=1.0))
    """
    if not math.isfinite(constants.M):
        raise SamplerError(
            "a loss with kinks has no certified quadratic bound, so no exact draws by rejection: "
            "use a smoothed loss (smoothed_hinge), a Langevin sampler with smoothing, or a finite "
            "grid of models"
        )
