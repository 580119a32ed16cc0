//! Test doubles and fixtures shared by the integration tests.
