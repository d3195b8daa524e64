"""How fast Postroom is, beside what is possible and beside what a user could pick instead, in one run on one machine.

`parts/` is what is measured, `peers/` whom it is measured against, `bars` what has to be reached. Figures of different
days or machines say little; ratios of things taken in turns in one run say a lot, so that is how everything is taken.
"""
