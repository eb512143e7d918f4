"""Generated wire code (by scripts/generate_proto from proto/), and the pool it lives in."""
