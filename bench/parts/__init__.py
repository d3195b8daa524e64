"""What is measured, one module each: `contestants(world)` are the runs, taken in turns with all others."""
