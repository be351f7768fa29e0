"""Code that the handlers of several APIs share."""
