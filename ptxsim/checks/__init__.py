"""Observers of the event stream: rules, races, bank conflicts."""
