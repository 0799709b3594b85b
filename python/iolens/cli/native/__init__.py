"""What the native `iolens` hands over: parts of its commands that are written in Python."""
