"""A private centre, a private Hessian, and the models near them, which cost nothing more."""
