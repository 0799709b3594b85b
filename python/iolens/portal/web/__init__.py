"""Pages, the API, and the application that serves them."""
