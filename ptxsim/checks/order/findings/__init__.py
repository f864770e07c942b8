"""Findings: what the problems of the scan are called, and what would correct them."""
