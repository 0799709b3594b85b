"""Users: their identity and sessions, the settings of the site, limits and the audit."""
