"""Faults for the program `prometheus`, by groups of config/alerts.yml: each alert fires and clears."""
