"""A lake for other programs: tables in PostgreSQL, numbers for Prometheus."""
