"""The drivers, one module for each instrument."""
