"""Information, composition and prior → parameters, with a proof."""
