"""What pages ask: snapshots of the lake, and the part of it that a user may see."""
