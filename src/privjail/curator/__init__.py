"""For the owner of the data: schemas, and the jail's folder with its data sets, users and grants."""
