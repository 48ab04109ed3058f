"""What may a body be made of, and what is believed of it? A file a composition, and the prior."""
