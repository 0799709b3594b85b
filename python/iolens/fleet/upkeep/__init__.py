"""What keeps a lake small, whole and private: compact, verify, forget, pseudonymize."""
