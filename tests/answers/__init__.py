"""What releases return."""
