"""Guarantee of one theorem for one law or path, or the reason why it does not apply."""

import math
from dataclasses import dataclass, replace

from rashomon_explorer._utils.formatting import Fact, ReprMixin
from rashomon_explorer.privacy.guarantee import Guarantee, guarantee_text


@dataclass(frozen=True, repr=False)
class Certificate(ReprMixin):
    """A theorem applied to public numbers."""

    name: str
    title: str
    source: str
    guarantee: Guarantee | None
    applies: bool
    why: str
    printed: bool = False

    def __post_init__(self) -> None:
        if (self.guarantee is not None) != (self.applies and not self.printed):
            raise ValueError(
                f"certificate {self.name!r} must have a guarantee exactly if it applies and its "
                f"constants are sound, got applies={self.applies}, printed={self.printed}, "
                f"guarantee={self.guarantee!r}"
            )

    @property
    def usable(self) -> bool:
        """Whether it may be charged: it applies, is sound, and its guarantee holds."""
        return self.guarantee is not None and self.guarantee.holds

    def epsilon(self, delta: float) -> float:
        """Least ε at δ; infinite if there is no guarantee."""
        return self.guarantee.epsilon(delta) if self.guarantee is not None else math.inf

    def _title(self) -> str:
        return f"Certificate {self.name}: {self.title}"

    def _facts(self) -> list[Fact]:
        price = guarantee_text(self.guarantee) if self.guarantee is not None else "none"
        unsound = ", with unsound constants" if self.printed else ""
        applies = f"{'yes' if self.applies else 'no'}{unsound}"
        return [
            ("applies", applies),
            ("privacy cost", price),
            ("why", self.why),
            ("source", self.source),
        ]


def for_ledger(certificate: Certificate) -> Certificate:
    """Restrict a certificate to what a ledger composes: pure ε and ρ of zCDP (docs/ledger.md)."""
    guarantee = certificate.guarantee
    if guarantee is None:
        return certificate
    if (
        guarantee.approximate_epsilon
        or guarantee.approximate_delta
        or not math.isfinite(guarantee.rho)
    ):
        why = "a ledger composes Rényi divergences, but this certificate bounds none"
        return replace(certificate, guarantee=None, applies=False, why=why)
    counted = replace(guarantee, notion="zcdp", mu=math.inf, curve=None, orders=())
    return replace(certificate, guarantee=counted)


def refused(name: str, title: str, source: str, why: str, *, printed: bool = False) -> Certificate:
    """Build a certificate that does not apply, with the reason."""
    return Certificate(name, title, source, None, False, why, printed)
