"""What each job of a study does."""
