"""What workers of the release before ask of the database, word for word."""
