"""Certificates: what each theorem promises of a Gibbs law or a path, from public numbers alone."""
