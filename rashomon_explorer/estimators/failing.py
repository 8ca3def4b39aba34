"""What a guarantee has to assume because a fit may fail."""


def may_fail_by_rows(*, charged: bool) -> str:
    """Say that some rows make a fit fail, which is seen; there is no bound, for some always do.

    Parameters
    ----------
    charged : bool
        Whether a ledger is charged, so that the error says no more than that.

    Examples
    --------
    >>> may_fail_by_rows(charged=True)
    'the fit returned: rows not finite, labels not declared or an uncertified minimum make it fail'
    """
    known = "the fit returned: rows not finite, labels not declared or an uncertified minimum make "
    return known + ("it fail" if charged else "it fail with an error that only the curator may see")
