"""What people and programs read: findings, tables, JSON, SARIF, pages. Reads results and runs nothing."""
