"""People, their sign-ins and their acts, on both stores."""
