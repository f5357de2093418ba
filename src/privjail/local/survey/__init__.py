"""A survey as people meet it: its file, the respondent's memory and page, and files of reports."""
