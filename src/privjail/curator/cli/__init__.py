"""The command line: arguments, help texts and tables. What it does is in folder.py, what it shows in views.py."""
