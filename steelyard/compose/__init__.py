"""What a link may be made of, one file each: a cone and a map to the ten parameters."""
