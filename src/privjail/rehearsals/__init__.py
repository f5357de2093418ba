"""Know the price before you pay: a program runs on made-up rows, and nothing is charged."""
