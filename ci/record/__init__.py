"""`labbook record`: what a GPU measures is kept in data/recordings/."""
