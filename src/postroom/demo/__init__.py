"""The story that `postroom demo` tells."""
