"""One handler module per API. Each docstring describes what the API does, its versions and its errors."""
