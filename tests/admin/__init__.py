"""The web app, asked as a browser or a program would."""
