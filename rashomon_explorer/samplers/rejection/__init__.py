"""The parts of exact rejection: an envelope, laws above the target, and the thinning."""
