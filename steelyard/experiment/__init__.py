"""How do I get data? Robots with a known truth, exciting motions, calibration routines, prediction-error search."""
