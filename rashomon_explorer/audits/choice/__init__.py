"""Choice of one model from an exact set, by a preference and with a proof."""
