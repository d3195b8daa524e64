"""Judges of the example's emails that nobody here wrote: `make judges`.

Our own checks know what we thought of. These know what others ran into: which mail program lacks what (caniemail), what
is wrong HTML (html-validate), what somebody with a screen reader or weak eyes cannot use (axe-core, in Chromium), and
what a filter takes for spam (SpamAssassin). They are apart from `make test` because they come from npm and Debian.
"""
