"""Widgets that show what other rooms know."""
