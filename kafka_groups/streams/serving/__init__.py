"""An HTTP server for the stores of an application: the only folder that imports starlette and uvicorn."""
