"""Errors and warnings that users meet, in one place so that they can be caught by name."""


class DataError(ValueError):
    """The rows cannot be used as they are; the message names the column or line and the remedy."""


class SamplerError(RuntimeError):
    """A sampler cannot draw from this target; the message says which setting to change."""


class EnvelopeError(SamplerError):
    """A certified envelope was found above the loss: the draws would not be exact."""


class LedgerError(RuntimeError):
    """The privacy ledger cannot be opened or written."""


class BudgetExceededError(LedgerError):
    """A charge would pass the ledger's budget; nothing was run and nothing was spent."""


class CuratorOnlyError(AttributeError):
    """A value computed from private rows was asked of an object meant for release."""


class PrivacyLeakWarning(UserWarning):
    """A bound was learnt from the rows, so that no privacy guarantee holds."""


class LedgerWarning(UserWarning):
    """The folder of a ledger cannot keep note of which tables its ledgers guard."""


class RowsClippedWarning(UserWarning):
    """More than 1 % of rows or targets were outside a declared bound and were clipped (curator)."""


class WeakGuaranteeWarning(UserWarning):
    """The public numbers promise so little that the draws may be useless, whatever the rows."""
