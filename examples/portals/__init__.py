"""A company with four portals: what each of them writes to people, and in which languages."""
