"""What a report says about one log, a file per part of it."""
