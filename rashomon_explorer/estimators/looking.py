"""What is wrong with rows, told to who may see them before a price is charged."""

from typing import Any


class LooksThrough:
    """An estimator whose rows can be looked through for nothing."""

    def check_rows(self, X: Any, y: Any = None) -> None:
        """Look through the rows for what would make ``fit`` fail; charges nothing (curator).

        A ledger is charged before a value is read, so that rows which cannot be used cost the
        price and give no model. What is found here depends on private rows: it is for who may see
        them, and no part of a release.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or rows in blocks where ``fit`` takes them
        y : array-like of shape (n_samples,)
            Left out for rows in blocks.

        Raises
        ------
        ValueError, TypeError
            For text, gaps, infinities, labels that are not declared, shapes that do not fit.

        Warns
        -----
        UserWarning
            If rows or targets would be clipped.

        Examples
        --------
        >>> from rashomon_explorer import RashomonClassifier
        >>> RashomonClassifier(classes=[0, 1]).check_rows([[0.1], [0.2]], [0, 2])
        Traceback (most recent call last):
            ...
        ValueError: y holds 2, which is not among the declared classes [0, 1]: ...
        """
        self._look_through(X, y)

    def _look_through(self, X: Any, y: Any) -> None:
        raise TypeError(f"{type(self).__name__} must say what it reads")
