"""Small programs that use Postroom, to read and to run."""
