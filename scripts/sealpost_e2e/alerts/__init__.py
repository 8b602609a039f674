"""What the program `prometheus` does to have each alert of config/alerts.yml fire and clear, by the alerts' groups."""
